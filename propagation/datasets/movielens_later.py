"""MovieLens 1M and 10M (`::` between fields), and 20M, 25M, 32M and latest (CSV)."""

from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from propagation.datasets.dataset import Dataset, assembled
from propagation.datasets.event_columns import Events
from propagation.datasets.line_reader import IdChecker, Place, csv_rows, find, lines_of, plain_name
from propagation.datasets.movielens import (
    RatingMetadata,
    descriptions_note,
    film,
    genres_of,
    read_descriptions,
)
from propagation.datasets.text_cleaning import entries
from propagation.model.clients.attribute import normalize_name
from propagation.model.clients.client import ClientChange, ClientKey, ClientKind

MOVIES = ("movieId", "title", "genres")
RATINGS = ("userId", "movieId", "rating", "timestamp")
TAGS = ("userId", "movieId", "tag", "timestamp")
USERS = ("userId", "gender", "age", "occupation", "zip")
TAGGERS, TAGS_A_FILM = 2, 10


def load_movielens_dat(folder: Path, seed: int) -> Dataset:
    """Load movies.dat, ratings.dat, users.dat and tags.dat; each may be missing.

    Raises:
        BrokenData: The first line that cannot be read.
    """
    return _load(folder, ".dat", seed)


def load_movielens_csv(folder: Path, seed: int) -> Dataset:
    """Load movies.csv, ratings.csv and tags.csv; each may be missing.

    Raises:
        BrokenData: The first line that cannot be read.
    """
    return _load(folder, ".csv", seed)


def _load(folder: Path, ending: str, seed: int) -> Dataset:
    ids, descriptions = IdChecker(), read_descriptions(folder)
    items = _films(folder, ending, ids, _tags(folder, ending, ids), descriptions)
    users = _users(folder, ids) if ending == ".dat" else {}
    ratings = _ratings(folder, ending, ids)
    notes = descriptions_note(items, descriptions)
    return assembled(folder.name, items, users, ratings, seed, notes)


def _rows(folder: Path, name: str, fields: tuple[str, ...]) -> Iterator[tuple[Place, list[str]]]:
    path = find(folder, name)
    if path and plain_name(path).endswith(".csv"):
        for place, row in csv_rows(path, fields):
            yield place, [row[field] for field in fields]
        return
    for place, text in lines_of(path, "latin-1"):
        yield place, _dat_fields(text, fields, place)


def _dat_fields(text: str, names: tuple[str, ...], place: Place) -> list[str]:
    """Split a line of a .dat file; a title or tag may itself hold `::`."""
    middle = next((number for number, name in enumerate(names) if name in ("title", "tag")), None)
    if middle is not None and text.count("::") >= len(names):
        head = text.split("::", middle)
        return [*head[:middle], *head[middle].rsplit("::", len(names) - middle - 1)]
    return place.split(text, "::", names)


def _films(
    folder: Path,
    ending: str,
    ids: IdChecker,
    tags: dict[str, tuple[str, ...]],
    descriptions: dict[str, str],
) -> dict[str, ClientChange]:
    items: dict[str, ClientChange] = {}
    for place, (raw, title, genres) in _rows(folder, f"movies{ending}", MOVIES):
        item = ids.check(raw, place, MOVIES[0])
        place.refuse_second(items, item, MOVIES[0])
        if not title.strip():
            raise place.refusal(MOVIES[1], "is empty; give a title")
        place.title(title, MOVIES[1])
        change = film(item, title, genres_of(genres), descriptions, tags.get(item, ()))
        items[item] = place.client(change)
    return items


def _users(folder: Path, ids: IdChecker) -> dict[str, ClientChange]:
    users: dict[str, ClientChange] = {}
    for place, values in _rows(folder, "users.dat", USERS):
        user = ids.check(values[0], place, USERS[0])
        place.refuse_second(users, user, USERS[0])
        metadata = dict(zip(USERS[1:4], values[1:4], strict=True))
        key = ClientKey(kind=ClientKind.USER, id=user)
        users[user] = place.client(ClientChange(key=key, metadata=metadata))
    return users


def _ratings(folder: Path, ending: str, ids: IdChecker) -> Events:
    log, ratings = Events("ml"), RatingMetadata()
    for place, (user, item, rating, time) in _rows(folder, f"ratings{ending}", RATINGS):
        log.append(
            ids.check(user, place, RATINGS[0]),
            ids.check(item, place, RATINGS[1]),
            place.unix_time(time, RATINGS[3]),
            ratings.of(rating, place, RATINGS[2]),
        )
    return log


def _tags(folder: Path, ending: str, ids: IdChecker) -> dict[str, tuple[str, ...]]:
    """Return the attributes of each film: tags that at least two users gave, most given first."""
    users_of: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for place, (user, item, tag, time) in _rows(folder, f"tags{ending}", TAGS):
        place.unix_time(time, TAGS[3])
        for name in entries([normalize_name(tag)]):
            checked_item = ids.check(item, place, TAGS[1])
            users_of[checked_item][name].add(ids.check(user, place, TAGS[0]))
    return {item: _most_given(tags) for item, tags in users_of.items()}


def _most_given(tags: dict[str, set[str]]) -> tuple[str, ...]:
    ranked = sorted(tags.items(), key=lambda pair: (-len(pair[1]), pair[0]))
    return tuple(name for name, users in ranked[:TAGS_A_FILM] if len(users) >= TAGGERS)
