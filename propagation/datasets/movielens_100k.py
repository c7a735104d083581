"""MovieLens 100k: u.data (white space), u.item, u.genre and u.user (bars), Latin-1."""

from pathlib import Path

from propagation.datasets.dataset import Dataset, assembled
from propagation.datasets.event_columns import Events
from propagation.datasets.line_reader import (
    Ids,
    described,
    fields,
    find,
    lines_of,
    moment,
    plain_name,
    title_of,
    unique,
)
from propagation.datasets.movielens import Ratings, film, joined_note, read_descriptions
from propagation.datasets.text_cleaning import entries
from propagation.model.clients.client import ClientChange, ClientKey, ClientKind
from propagation.model.errors import BrokenData

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
# What this dataset writes for a genre, or a title, that it does not know.
UNKNOWN = frozenset(["unknown"])
BEFORE_GENRES = ("movie id", "movie title", "release date", "video release date", "IMDb URL")
RATING = ("user id", "item id", "rating", "timestamp")
USER = ("user id", "age", "gender", "occupation", "zip code")


def load_movielens_100k(folder: Path, seed: int) -> Dataset:
    """Items from u.item, users from u.user where it is there, events from u.data where it is there.
    Raises BrokenData."""
    ids, descriptions = Ids(), read_descriptions(folder)
    items = _items(folder, ids, descriptions)
    users = _users(folder, ids)
    return assembled(
        folder.name, items, users, _ratings(folder, ids), seed, joined_note(items, descriptions)
    )


def _genres(folder: Path) -> dict[int, str]:
    path = find(folder, "u.genre")
    if path is None:
        return dict(enumerate(GENRES))
    found = {}
    for line, text in lines_of(path, LATIN):
        name, place = fields(text, "|", ("genre", "number"), plain_name(path), line)
        if not place.strip().isdecimal():
            raise BrokenData(
                plain_name(path), line, "number", f"{place[:40]!r} is not a whole number"
            )
        found[int(place)] = name
    return found


def _items(folder: Path, ids: Ids, descriptions: dict[str, str]) -> dict[str, ClientChange]:
    path = find(folder, "u.item")
    genres = _genres(folder)
    names = (
        *BEFORE_GENRES,
        *(genres.get(place, f"genre {place}") for place in range(max(genres, default=-1) + 1)),
    )
    items: dict[str, ClientChange] = {}
    for line, text in lines_of(path, LATIN) if path else ():
        file = plain_name(path) if path else ""
        values = fields(text, "|", names, file, line)
        item = ids.checked(values[0], file, line, names[0])
        unique(items, item, file, line, names[0])
        flags = dict(zip(names[len(BEFORE_GENRES) :], values[len(BEFORE_GENRES) :], strict=True))
        title = title_of(values[1], file, line, names[1])
        shown = "" if title.casefold() in UNKNOWN else title
        items[item] = described(
            film(item, shown, _held(flags, file, line), descriptions), file, line
        )
    return items


def _held(flags: dict[str, str], file: str, line: int) -> tuple[str, ...]:
    for name, flag in flags.items():
        if flag.strip() not in ("0", "1"):
            raise BrokenData(file, line, name, f"{flag[:40]!r} is neither 0 nor 1")
    return entries((name for name, flag in flags.items() if flag.strip() == "1"), UNKNOWN)


def _users(folder: Path, ids: Ids) -> dict[str, ClientChange]:
    path = find(folder, "u.user")
    users: dict[str, ClientChange] = {}
    for line, text in lines_of(path, LATIN) if path else ():
        file = plain_name(path) if path else ""
        values = fields(text, "|", USER, file, line)
        user = ids.checked(values[0], file, line, USER[0])
        unique(users, user, file, line, USER[0])
        known = dict(zip(("age", "gender", "occupation"), values[1:4], strict=True))
        users[user] = described(
            ClientChange(key=ClientKey(kind=ClientKind.USER, id=user), metadata=known), file, line
        )
    return users


def _ratings(folder: Path, ids: Ids) -> Events:
    """Copies of u.data exist in which some tabs became spaces; every field is a number, so both
    part them."""
    path, log, ratings = find(folder, "u.data"), Events("ml-100k"), Ratings()
    for line, text in lines_of(path, LATIN) if path else ():
        file = plain_name(path) if path else ""
        user, item, rating, time = fields(text, None, RATING, file, line)
        log.append(
            ids.checked(user, file, line, RATING[0]),
            ids.checked(item, file, line, RATING[1]),
            moment(time, file, line, RATING[3]),
            ratings.metadata(rating, file, line, RATING[2]),
        )
    return log
