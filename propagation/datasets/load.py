"""A folder to a dataset: the format is told from the files that are there."""

from collections.abc import Callable
from pathlib import Path

from propagation.datasets.form import Dataset
from propagation.datasets.json_lines import load_json_lines
from propagation.datasets.movielens_100k import load_movielens_100k
from propagation.datasets.movielens_later import load_movielens_csv, load_movielens_dat
from propagation.datasets.reading import find
from propagation.datasets.recbole import atomic_files, load_recbole
from propagation.model.errors import BrokenData

Loader = Callable[[Path, int], Dataset]
BY_FILES: tuple[tuple[tuple[str, ...], Loader], ...] = (
    (("u.data", "u.item"), load_movielens_100k),
    (("movies.dat", "ratings.dat"), load_movielens_dat),
    (("movies.csv", "ratings.csv"), load_movielens_csv),
    (("clients.jsonl", "events.jsonl"), load_json_lines),
)
KNOWN = "MovieLens (u.data, movies.dat or movies.csv), RecBole (.inter, .item, .user), or clients.jsonl and events.jsonl"


def load_dataset(folder: Path, seed: int) -> Dataset:
    """Everything in the folder, parsed and checked before anything is returned; equal times are ordered by `seed`.

    Raises BrokenData: the folder holds no known format, or the first broken line."""
    folder = folder.expanduser().resolve()
    if not folder.is_dir():
        raise BrokenData(str(folder), 0, "", "is not a folder")
    dataset = _loader(folder)(folder, seed)
    if not dataset.items:
        raise BrokenData(str(folder), 0, "", "its files name no item and no event")
    return dataset


def _loader(folder: Path) -> Loader:
    for names, loader in BY_FILES:
        if any(find(folder, name) for name in names):
            return loader
    if any(atomic_files(folder, ending) for ending in (".inter", ".item")):
        return load_recbole
    raise BrokenData(str(folder), 0, "", f"holds no data that is known: {KNOWN}")
