"""Slices of a file of results: a hand-worked example, and files that are none."""

import csv
import io
from zipfile import ZipFile

import numpy as np
import pytest

from propagation.evaluation.reports.results_reader import read_slices
from propagation.model import InvalidInput

HEADING = (
    "seed",
    "known",
    "user",
    "history",
    "adopters",
    "offk_adoption.n10",
    "knn.n10",
    "offk.n10",
)
TARGETS = [
    (1, "moment", "ann", 1, 0, 0.8, 0.5, 0.7),
    (1, "moment", "ann", 2, 3, 0.6, 0.4, 0.7),
    (1, "moment", "b,ob", 4, 51, 0.5, 0.6, 0.7),
    (1, "moment", "b,ob", 0, 7, 1.0, 0.5, 0.5),  # a first event
]


def write_results(path, targets, heading=HEADING):
    if path.suffix == ".npz":
        np.savez(path, **dict(zip(heading, map(np.array, zip(*targets, strict=True)), strict=True)))
    else:
        text = io.StringIO()
        csv.writer(text).writerows([heading, *targets])
        path.write_text(text.getvalue())
    return path


@pytest.mark.parametrize("name", ["targets.csv", "targets.npz"])
def test_slices_by_hand(tmp_path, name):
    found = read_slices(write_results(tmp_path / name, TARGETS))
    assert (found.file, found.known, found.seed, found.seeds) == (name, "moment", 1, 1)
    assert found.targets == 4
    users, items = found.panels.values()
    assert [(part.span, part.events) for part in users] == [("0", 1), ("1", 1), ("2 to 5", 2)]
    assert [(part.span, part.events) for part in items] == [
        ("0", 1),
        ("3 to 10", 1),
        ("51 or more", 1),
    ], "a first event is in no slice of items"
    few = users[2]
    assert few.over_knn.mean == pytest.approx((0.2 - 0.1) / 2)
    assert few.over_knn.standard_error == pytest.approx(0.15)
    assert not few.over_knn.worse
    assert few.gain_live.mean == pytest.approx(-0.15)
    assert few.gain_live.standard_error == pytest.approx(0.05)
    assert few.gain_live.worse
    assert items[2].over_knn.mean == pytest.approx(-0.1)
    assert items[2].over_knn.standard_error is None
    assert not items[2].over_knn.worse, "the error of one user is not known"


def test_the_slices_are_of_the_median_seed(tmp_path):
    def level(seed, live):
        return [(seed, "moment", "ann", 1, 1, live, 0.5, 0.5)]

    mixed = level(3, 0.9) + level(1, 0.7) + level(2, 0.8)
    found = read_slices(write_results(tmp_path / "targets.csv", mixed))
    assert (found.seed, found.seeds, found.targets) == (2, 3, 1)
    assert found.panels["history of the user"][0].over_knn.mean == pytest.approx(0.3)


def test_of_leave_one_out_targets_behind_all_else_count(tmp_path):
    rows = [(1, known, *TARGETS[0][2:]) for known in ("moment", "end", "shuffled")]
    assert read_slices(write_results(tmp_path / "targets.csv", rows)).known == "end"


def without(*names):
    kept = [place for place, name in enumerate(HEADING) if name not in names]
    return [HEADING[place] for place in kept], [
        tuple(target[place] for place in kept) for target in TARGETS
    ]


@pytest.mark.parametrize("name", ["targets.csv", "targets.npz"])
@pytest.mark.parametrize(
    ("columns", "reason"),
    [
        (without("adopters"), "lacks adopters, which slices need: it is of an older version"),
        (without("knn.n10"), r"lacks knn\.n10"),
        (without("knn.n10", "offk.n10"), "has one arm, offk_adoption; slices compare"),
        ((["title", "year"], [("Alien", 1979)]), "is no file of results"),
        ((["draw", "user", "rank"], [("a", "b", 1)]), "a ranking by a language model"),
        ((HEADING, [(1, "shuffled", *TARGETS[0][2:])]), "no targets with `known` end or moment"),
        ((HEADING, [TARGETS[0], (*TARGETS[1][:5], 1.5, 0.5, 0.5)]), r"n10 of target 2 is no"),
        ((HEADING, [(*TARGETS[0][:4], -1, 0.5, 0.5, 0.5)]), "adopters of target 1 is no number"),
        ((HEADING, [(*TARGETS[0][:6], float("nan"), 0.5)]), r"knn\.n10 of target 1 is no number"),
    ],
)
def test_a_file_without_slices_is_refused_with_advice(tmp_path, name, columns, reason):
    path = write_results(tmp_path / name, columns[1], columns[0])
    with pytest.raises(InvalidInput, match=reason) as refused:
        read_slices(path)
    assert str(refused.value).startswith(f"{path}: ")
    assert "`propagation evaluate FOLDER --results FILE` writes one" in str(refused.value)


WHOLE = io.BytesIO()
np.savez(WHOLE, **{name: np.ones(3) for name in HEADING})
ARRAY = io.BytesIO()
np.save(ARRAY, np.ones(3))
PICKLE = io.BytesIO()
np.savez(PICKLE, **{name: np.array([None]) for name in HEADING})
RAGGED = io.BytesIO()
np.savez(RAGGED, **{name: np.ones(2 + (name == "user")) for name in HEADING})
TEXTS = io.BytesIO()
np.savez(TEXTS, **{name: np.array(["many"]) for name in HEADING})
BYTES = io.BytesIO()
np.savez(
    BYTES, **{name: np.array([b"\xff"]) if name == "known" else np.ones(1) for name in HEADING}
)


def zip_members(content):
    """Return a zip file whose members are what they are not said to be."""
    written = io.BytesIO()
    with ZipFile(written, "w") as file:
        for name in HEADING:
            file.writestr(f"{name}.npy", content)
    return written.getvalue()


def write_header(header):
    """Return the beginning of an array's file."""
    text = header.encode().ljust(117) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text


NOTHING = io.BytesIO()
np.savez(NOTHING, **{name: np.ones(0) for name in HEADING})


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("a.csv", b"", "is empty"),
        ("a.csv", ",".join(HEADING).encode(), "no targets: nothing was ranked"),
        ("a.csv", ",".join(HEADING).encode() + b"\n1,moment,ann\n", "line 2 has 3 fields where"),
        (
            "a.csv",
            ",".join(HEADING).encode() + b"\n1,moment,ann,one,0,1,1,1\n",
            "history of target 1",
        ),
        ("a.csv", b"PK\x03\x04\xff\xfe", "is no CSV file in UTF-8"),
        ("a.csv", b'{"slices": []}', "is no file of results"),
        ("a.npz", b"", r"is no \.npz file"),
        ("a.npz", b"seed,known", r"is no \.npz file"),
        ("a.npz", WHOLE.getvalue()[:-40], r"is no \.npz file"),
        ("a.npz", ARRAY.getvalue(), "has one array without a name"),
        ("a.npz", PICKLE.getvalue(), r"is no \.npz file"),
        ("a.npz", RAGGED.getvalue(), "columns of different lengths"),
        ("a.npz", TEXTS.getvalue(), "has texts in seed"),
        ("a.npz", NOTHING.getvalue(), "no targets: nothing was ranked"),
        ("a.npz", BYTES.getvalue(), "is no file of results"),
        ("a.npz", zip_members("no array"), "is no file of results"),
        ("a.npz", zip_members(write_header("{'descr': '<f8', 'shape': (10")), r"is no \.npz file"),
        (
            "a.npz",
            zip_members(
                write_header(f"{{'descr': '<f8', 'fortran_order': False, 'shape': ({10**13},)}}")
            ),
            r"is no \.npz file",
        ),
    ],
)
def test_damaged_and_empty_files_are_refused(tmp_path, name, content, reason):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(InvalidInput, match=reason):
        read_slices(path)
