"""MovieLens 100k: u.data (white space), u.item, u.genre and u.user (bars), Latin-1."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from propagation.datasets.dataset import Dataset, assembled
from propagation.datasets.line_reader import IdChecker, Place, find, lines_of
from propagation.datasets.movielens import (
    descriptions_note,
    film,
    read_descriptions,
    read_ratings,
    read_users,
)
from propagation.datasets.text_cleaning import entries
from propagation.model import ClientChange

LATIN = "latin-1"
GENRES = (
    "unknown",
    "Action",
    "Adventure",
    "Animation",
    "Children's",
    "Comedy",
    "Crime",
    "Documentary",
    "Drama",
    "Fantasy",
    "Film-Noir",
    "Horror",
    "Musical",
    "Mystery",
    "Romance",
    "Sci-Fi",
    "Thriller",
    "War",
    "Western",
)
# This dataset's word for a genre or a title that it does not know.
UNKNOWN = frozenset(["unknown"])
BEFORE_GENRES = ("movie id", "movie title", "release date", "video release date", "IMDb URL")
RATING = ("user id", "item id", "rating", "timestamp")
USER = ("user id", "age", "gender", "occupation", "zip code")


def load_movielens_100k(folder: Path, seed: int) -> Dataset:
    """Load u.item, u.user and u.data; each may be missing.

    Raises:
        BrokenData: The first line that cannot be read.
    """
    ids, descriptions = IdChecker(), read_descriptions(folder)
    items = _items(folder, ids, descriptions)
    users = read_users(_rows(folder, "u.user", "|", USER), USER, ids)
    notes = descriptions_note(items, descriptions)
    # Any white space: there are copies of u.data in which some tabs became spaces.
    ratings = read_ratings("ml-100k", _rows(folder, "u.data", None, RATING), RATING, ids)
    return assembled(folder.name, items, users, ratings, seed, notes)


def _genres(folder: Path) -> dict[int, str]:
    if find(folder, "u.genre") is None:
        return dict(enumerate(GENRES))
    found = {}
    for place, (name, number) in _rows(folder, "u.genre", "|", ("genre", "number")):
        if not number.strip().isdecimal():
            raise place.refusal("number", f"{number[:40]!r} is not a whole number")
        found[int(number)] = name
    return found


def _items(folder: Path, ids: IdChecker, descriptions: dict[str, str]) -> dict[str, ClientChange]:
    genres = _genres(folder)
    names = (
        *BEFORE_GENRES,
        *(genres.get(number, f"genre {number}") for number in range(max(genres, default=-1) + 1)),
    )
    items: dict[str, ClientChange] = {}
    for place, values in _rows(folder, "u.item", "|", names):
        item = ids.check(values[0], place, names[0])
        place.refuse_second(items, item, names[0])
        flags = dict(zip(names[len(BEFORE_GENRES) :], values[len(BEFORE_GENRES) :], strict=True))
        title = place.title(values[1], names[1])
        shown = "" if title.casefold() in UNKNOWN else title
        items[item] = place.client(film(item, shown, _flagged(flags, place), descriptions))
    return items


def _flagged(flags: dict[str, str], place: Place) -> tuple[str, ...]:
    """Return the genres whose flag is 1."""
    for name, flag in flags.items():
        if flag.strip() not in ("0", "1"):
            raise place.refusal(name, f"{flag[:40]!r} is neither 0 nor 1")
    return entries((name for name, flag in flags.items() if flag.strip() == "1"), UNKNOWN)


def _rows(
    folder: Path, name: str, separator: str | None, fields: Sequence[str]
) -> Iterator[tuple[Place, list[str]]]:
    for place, text in lines_of(find(folder, name), LATIN):
        yield place, place.split(text, separator, fields)
