"""Load a folder as a dataset, whose files tell the format."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple

from propagation.datasets.dataset import Dataset
from propagation.datasets.json_lines import load_json_lines
from propagation.datasets.line_reader import find, find_all, plain_name
from propagation.datasets.movielens import load_movielens, load_movielens_100k
from propagation.datasets.recbole import load_recbole
from propagation.model import BrokenData

Loader = Callable[[Path, int], Dataset]


class Format(NamedTuple):
    """A format: its loader, its main files (one must exist), and further files that it reads."""

    load: Loader
    main: tuple[str, ...]
    further: tuple[str, ...] = ()


FORMATS = {
    "MovieLens 100k": Format(load_movielens_100k, ("u.data", "u.item"), ("u.user", "u.genre")),
    "MovieLens 1M and 10M": Format(
        partial(load_movielens, ending=".dat"),
        ("movies.dat", "ratings.dat"),
        ("users.dat", "tags.dat"),
    ),
    "MovieLens from 20M on": Format(
        partial(load_movielens, ending=".csv"), ("movies.csv", "ratings.csv"), ("tags.csv",)
    ),
    "JSON Lines": Format(load_json_lines, ("clients.jsonl", "events.jsonl")),
}
FILES_SHOWN = 4
ATOMIC = (".inter", ".item", ".user")
KNOWN = (
    "MovieLens (u.data, movies.dat or movies.csv), RecBole (.inter, .item, .user), or clients.jsonl"
    " and events.jsonl"
)


def load_dataset(folder: Path, seed: int) -> Dataset:
    """Read and check everything in the folder.

    Args:
        seed: Orders events of equal time.

    Raises:
        BrokenData: The folder holds no known format or two of them, or its first broken line.
    """
    folder = folder.expanduser().resolve()
    if not folder.is_dir():
        raise BrokenData(str(folder), 0, "", "is not a folder")
    dataset = _loader(folder)(folder, seed)
    if not dataset.items:
        raise BrokenData(str(folder), 0, "", "its files name no item and no event")
    return dataset


def _loader(folder: Path) -> Loader:
    """Return the loader of the one format that the folder holds."""
    present = {
        name: [file for file in (*one.main, *one.further) if find(folder, file)]
        for name, one in FORMATS.items()
    }
    assigned = {file for files in present.values() for file in files}
    atomic = (plain_name(path) for ending in ATOMIC for path in find_all(folder, ending))
    present["RecBole"] = [file for file in atomic if file not in assigned]
    loaders = {
        name: one.load for name, one in FORMATS.items() if set(one.main) & set(present[name])
    }
    if any(not file.endswith(".user") for file in present["RecBole"]):
        loaders["RecBole"] = load_recbole
    if not loaders:
        raise BrokenData(str(folder), 0, "", f"holds no data that is known: {KNOWN}")
    found = [f"{name} ({_shown(files)})" for name, files in present.items() if files]
    if len(found) > 1:
        raise BrokenData(
            str(folder),
            0,
            "",
            f"holds files of {' and of '.join(found)}, and one would be ignored; "
            "move those of one format into a folder of their own",
        )
    return next(iter(loaders.values()))


def _shown(files: list[str]) -> str:
    return ", ".join(files[:FILES_SHOWN]) + (", ..." if len(files) > FILES_SHOWN else "")
