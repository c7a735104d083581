"""The format of a folder, and messages about what it lacks."""

from pathlib import Path

import pytest

from propagation.datasets.load import load_dataset
from propagation.model import BrokenData

SEED = 7
FILES = {
    "x.inter": "user_id:token\titem_id:token\nu\ti\n",
    "x.user": "user_id:token\nu\n",
    "events.jsonl": '{"user_id": "u", "item_id": "i"}\n',
    "u.data": "1\t1\t3\t20\n",
    "movies.csv": "movieId,title,genres\n1,A,Drama\n",
    "ratings.csv": "userId,movieId,rating,timestamp\n1,1,3,20\n",
    "ratings.dat": "1::1::3::20\n",
}


def write_files(path, *names):
    for name in names:
        (path / name).write_text(FILES[name])
    return path


@pytest.mark.parametrize(
    "names",
    [
        ("x.inter", "events.jsonl"),
        ("u.data", "ratings.csv", "movies.csv"),
        ("x.user", "events.jsonl"),
        ("ratings.dat", "ratings.csv"),
        ("u.data", "x.inter"),
    ],
)
def test_two_formats_in_one_folder_are_both_named(tmp_path, names):
    with pytest.raises(BrokenData) as refusal:
        load_dataset(write_files(tmp_path, *names), SEED)
    assert all(name in str(refusal.value) for name in names)
    assert "a folder of their own" in str(refusal.value)


@pytest.mark.parametrize("name", ["events.jsonl", "x.inter"])
def test_a_file_that_is_there_plain_and_compressed(tmp_path, name):
    (write_files(tmp_path, name) / f"{name}.gz").write_bytes(b"")
    with pytest.raises(BrokenData, match=f"{name}.gz; keep one"):
        load_dataset(tmp_path, SEED)


@pytest.mark.parametrize(
    ("beside", "name"),
    [
        ("clients.jsonl", "events.jsonl"),
        ("events.jsonl", "clients.jsonl"),
        (None, "events.jsonl"),
        ("clients.jsonl", "events.jsonl.gz"),
        *[("u.data", name) for name in ("u.item", "u.user", "u.genre")],
        ("u.item", "u.data"),
        *[("ratings.dat", name) for name in ("movies.dat", "users.dat", "tags.dat")],
        ("movies.dat", "ratings.dat"),
        *[("ratings.csv", name) for name in ("movies.csv", "tags.csv")],
        ("movies.csv", "ratings.csv"),
        *[("x.inter", name) for name in ("x.item", "x.user", "y.inter")],
        ("x.item", "x.inter"),
    ],
)
@pytest.mark.parametrize("made", [Path.mkdir, lambda path: path.symlink_to("nowhere")])
def test_what_has_the_name_of_a_file_and_is_none_is_named(tmp_path, beside, name, made):
    texts = {
        **FILES,
        "clients.jsonl": '{"kind": "item", "id": "i"}\n',
        "x.item": "item_id:token\ni\n",
        "u.item": "1|A|01-Jan-1995||" + "|0" * 19 + "\n",
        "movies.dat": "1::A::Drama\n",
    }
    if beside:
        (tmp_path / beside).write_text(texts[beside])
    made(tmp_path / name)
    with pytest.raises(BrokenData, match="not a file") as refusal:
        load_dataset(tmp_path, SEED)
    assert refusal.value.file == name


def test_a_folder_of_another_name_is_not_looked_at(tmp_path):
    write_files(tmp_path, "movies.csv")
    (tmp_path / "old-ratings.csv").mkdir()
    assert len(load_dataset(tmp_path, SEED).items) == 1


@pytest.mark.parametrize(
    "name", ["u.data", "ratings.csv", "ratings.dat", "x.inter", "events.jsonl"]
)
def test_events_without_a_catalogue_say_so(tmp_path, name):
    (note,) = [
        note
        for note in load_dataset(write_files(tmp_path, name), SEED).notes
        if "catalogue" in note
    ]
    assert note.startswith("Items that are in events")
    assert "no catalogue: 1." in note


def test_a_catalogue_of_another_name_is_named(tmp_path):
    (write_files(tmp_path, "events.jsonl") / "items.jsonl").write_text("{}\n")
    (tmp_path / "README.md").write_text("words")
    (note,) = [note for note in load_dataset(tmp_path, SEED).notes if "Not read" in note]
    assert "items.jsonl" in note
    assert "clients.jsonl" in note
    assert "README" not in note


def test_a_catalogue_that_names_them_all_needs_no_note(tmp_path):
    assert load_dataset(write_files(tmp_path, "movies.csv", "ratings.csv"), SEED).notes == ()


def test_a_folder_of_nothing_known_names_what_was_looked_for(tmp_path):
    (tmp_path / "interactions.parquet").write_bytes(b"")
    with pytest.raises(BrokenData) as refusal:
        load_dataset(tmp_path, SEED)
    sought = ("u.data", "ratings.dat", "ratings.csv", "events.jsonl", "*.inter")
    assert all(name in str(refusal.value) for name in sought)


@pytest.mark.parametrize(
    ("catalogue", "text", "other", "sought"),
    [
        ("movies.csv", FILES["movies.csv"], "rating.csv", "ratings.csv"),
        ("clients.jsonl", '{"kind": "item", "id": "i"}\n', "interactions.jsonl", "events.jsonl"),
        ("x.item", "item_id:token\ni\n", "x.interactions", "*.inter"),
    ],
)
def test_events_in_a_file_of_another_name(tmp_path, catalogue, text, other, sought):
    (tmp_path / catalogue).write_text(text)
    assert len(load_dataset(tmp_path, SEED)) == 0  # a catalogue alone is data
    (tmp_path / other).write_text("x")
    with pytest.raises(BrokenData) as refusal:
        load_dataset(tmp_path, SEED)
    assert sought in str(refusal.value)
    assert other in str(refusal.value)
