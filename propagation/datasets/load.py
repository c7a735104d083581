"""A folder to a dataset: the format is told from the files that are there."""

from collections.abc import Callable
from pathlib import Path

from propagation.datasets.dataset import Dataset
from propagation.datasets.json_lines import load_json_lines
from propagation.datasets.line_reader import find, plain_name
from propagation.datasets.movielens_100k import load_movielens_100k
from propagation.datasets.movielens_later import load_movielens_csv, load_movielens_dat
from propagation.datasets.recbole import atomic_files, load_recbole
from propagation.model.errors import BrokenData

Loader = Callable[[Path, int], Dataset]
# The format, its loader, the files that it reads, and of how many of them, from the first, one must
# be there.
FORMATS: tuple[tuple[str, Loader, tuple[str, ...], int], ...] = (
    ("MovieLens 100k", load_movielens_100k, ("u.data", "u.item", "u.user", "u.genre"), 2),
    (
        "MovieLens 1M and 10M",
        load_movielens_dat,
        ("movies.dat", "ratings.dat", "users.dat", "tags.dat"),
        2,
    ),
    ("MovieLens from 20M on", load_movielens_csv, ("movies.csv", "ratings.csv", "tags.csv"), 2),
    ("JSON Lines", load_json_lines, ("clients.jsonl", "events.jsonl"), 2),
)
FILES_NAMED = 4
ATOMIC = (".inter", ".item", ".user")
KNOWN = "MovieLens (u.data, movies.dat or movies.csv), RecBole (.inter, .item, .user), or clients.jsonl and events.jsonl"


def load_dataset(folder: Path, seed: int) -> Dataset:
    """Everything in the folder, parsed and checked before anything is returned; equal times are
    ordered by `seed`.

    Raises BrokenData: the folder holds no known format, or the first broken line."""
    folder = folder.expanduser().resolve()
    if not folder.is_dir():
        raise BrokenData(str(folder), 0, "", "is not a folder")
    dataset = _loader(folder)(folder, seed)
    if not dataset.items:
        raise BrokenData(str(folder), 0, "", "its files name no item and no event")
    return dataset


def _loader(folder: Path) -> Loader:
    """The loader of the one format whose files are there. Raises BrokenData where they are of none,
    or of two."""
    present = {
        name: [file for file in files if find(folder, file)] for name, _, files, _ in FORMATS
    }
    taken = {file for files in present.values() for file in files}
    atomic = (plain_name(path) for ending in ATOMIC for path in atomic_files(folder, ending))
    present["RecBole"] = [file for file in atomic if file not in taken]
    loaders = {
        name: loader
        for name, loader, files, needed in FORMATS
        if set(files[:needed]) & set(present[name])
    }
    if any(not file.endswith(".user") for file in present["RecBole"]):
        loaders["RecBole"] = load_recbole
    if not loaders:
        raise BrokenData(str(folder), 0, "", f"holds no data that is known: {KNOWN}")
    there = [
        f"{name} ({', '.join(files[:FILES_NAMED])}{', ...' if len(files) > FILES_NAMED else ''})"
        for name, files in present.items()
        if files
    ]
    if len(there) > 1:
        raise BrokenData(
            str(folder),
            0,
            "",
            f"holds files of {' and of '.join(there)}, and one would be ignored; "
            "move those of one format into a folder of their own",
        )
    return next(iter(loaders.values()))
