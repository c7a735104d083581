"""SQLite's `with connection` commits and closes nothing; only the garbage collector would.

Since Python 3.13 that is a warning, in whichever test runs then.
"""

from pathlib import Path

ROOT = Path(__file__).parents[3]
LEFT_OPEN = "with sqlite3." + "connect("


def test_no_connection_is_left_to_the_garbage_collector():
    files = [
        file
        for folder in ("propagation", "services", "benchmarks", "tests")
        for file in (ROOT / folder).rglob("*.py")
    ]
    assert files
    assert [str(file) for file in files if LEFT_OPEN in file.read_text()] == []
