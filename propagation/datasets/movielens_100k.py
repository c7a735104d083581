"""MovieLens 100k: u.data (white space), u.item, u.genre and u.user (bars), Latin-1."""

from pathlib import Path

from propagation.datasets.dataset import Dataset, assembled
from propagation.datasets.event_columns import Events
from propagation.datasets.line_reader import IdChecker, Place, find, lines_of
from propagation.datasets.movielens import (
    RatingMetadata,
    descriptions_note,
    film,
    read_descriptions,
)
from propagation.datasets.text_cleaning import entries
from propagation.model.clients.client import ClientChange, ClientKey, ClientKind

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
    users = _users(folder, ids)
    notes = descriptions_note(items, descriptions)
    return assembled(folder.name, items, users, _ratings(folder, ids), seed, notes)


def _genres(folder: Path) -> dict[int, str]:
    path = find(folder, "u.genre")
    if path is None:
        return dict(enumerate(GENRES))
    found = {}
    for place, text in lines_of(path, LATIN):
        name, number = place.split(text, "|", ("genre", "number"))
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
    for place, text in lines_of(find(folder, "u.item"), LATIN):
        values = place.split(text, "|", names)
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


def _users(folder: Path, ids: IdChecker) -> dict[str, ClientChange]:
    users: dict[str, ClientChange] = {}
    for place, text in lines_of(find(folder, "u.user"), LATIN):
        values = place.split(text, "|", USER)
        user = ids.check(values[0], place, USER[0])
        place.refuse_second(users, user, USER[0])
        metadata = dict(zip(USER[1:4], values[1:4], strict=True))
        key = ClientKey(kind=ClientKind.USER, id=user)
        users[user] = place.client(ClientChange(key=key, metadata=metadata))
    return users


def _ratings(folder: Path, ids: IdChecker) -> Events:
    log, ratings = Events("ml-100k"), RatingMetadata()
    for place, text in lines_of(find(folder, "u.data"), LATIN):
        # Any white space: there are copies of u.data in which some tabs became spaces.
        user, item, rating, time = place.split(text, None, RATING)
        log.append(
            ids.check(user, place, RATING[0]),
            ids.check(item, place, RATING[1]),
            place.unix_time(time, RATING[3]),
            ratings.of(rating, place, RATING[2]),
        )
    return log
