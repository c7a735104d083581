"""Two halves of the kernels' cache become one."""

from services.runtime.kernel_warm_up import take_in


def test_what_is_kept_stays_and_what_is_found_beside_it_is_taken_in_whole(tmp_path):
    found, kept = tmp_path / "found", tmp_path / "kept"
    for folder in (found / "numbers", kept / "numbers"):
        folder.mkdir(parents=True)
    for name in (
        "both-1.py311.nbi",
        "both-1.py311.1.nbc",
        "only-7.py311.nbi",
        "only-7.py311.1.nbc",
        "only-7.py311.2.nbc",
    ):
        (found / "numbers" / name).write_text("found")
    for name in ("both-1.py311.nbi", "both-1.py311.1.nbc"):
        (kept / "numbers" / name).write_text("kept")
    take_in(found, kept)
    assert {file.name: file.read_text() for file in (kept / "numbers").iterdir()} == {
        "both-1.py311.nbi": "kept",
        "both-1.py311.1.nbc": "kept",
        "only-7.py311.nbi": "found",
        "only-7.py311.1.nbc": "found",
        "only-7.py311.2.nbc": "found",
    }
