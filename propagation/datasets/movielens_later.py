"""MovieLens 1M and 10M (`::` between fields) and 20M, 25M, 32M and latest (CSV with headings): one
shape, two writings."""

from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from propagation.datasets.dataset import Dataset, assembled
from propagation.datasets.event_columns import Events
from propagation.datasets.line_reader import (
    Ids,
    csv_rows,
    described,
    fields,
    find,
    lines_of,
    moment,
    plain_name,
    title_of,
    unique,
)
from propagation.datasets.movielens import Ratings, film, genres_of, joined_note, read_descriptions
from propagation.datasets.text_cleaning import entries
from propagation.model.clients.attribute import normalize_name
from propagation.model.clients.client import ClientChange, ClientKey, ClientKind
from propagation.model.errors import BrokenData

MOVIES = ("movieId", "title", "genres")
RATINGS = ("userId", "movieId", "rating", "timestamp")
TAGS = ("userId", "movieId", "tag", "timestamp")
USERS = ("userId", "gender", "age", "occupation", "zip")
TAGGERS, TAGS_A_FILM = 2, 10
Rows = Iterator[tuple[int, list[str]]]


def load_movielens_dat(folder: Path, seed: int) -> Dataset:
    """movies.dat, and ratings.dat, users.dat, tags.dat where they are there. Raises BrokenData."""
    return _load(folder, ".dat", seed)


def load_movielens_csv(folder: Path, seed: int) -> Dataset:
    """movies.csv, and ratings.csv and tags.csv where they are there. Raises BrokenData."""
    return _load(folder, ".csv", seed)


def _load(folder: Path, ending: str, seed: int) -> Dataset:
    ids, descriptions = Ids(), read_descriptions(folder)
    items = _films(folder, ending, ids, _tags(folder, ending, ids), descriptions)
    users = _users(folder, ids) if ending == ".dat" else {}
    return assembled(
        folder.name,
        items,
        users,
        _ratings(folder, ending, ids),
        seed,
        joined_note(items, descriptions),
    )


def _rows(path: Path, names: tuple[str, ...]) -> Rows:
    if plain_name(path).endswith(".csv"):
        for line, row in csv_rows(path, names):
            yield line, [row[name] for name in names]
        return
    for line, text in lines_of(path, "latin-1"):
        yield line, _dat_fields(text, names, plain_name(path), line)


def _dat_fields(text: str, names: tuple[str, ...], file: str, line: int) -> list[str]:
    """A text between two ids may itself hold `::`: the rest is cut from the ends."""
    middle = next((place for place, name in enumerate(names) if name in ("title", "tag")), None)
    if middle is not None and text.count("::") >= len(names):
        head = text.split("::", middle)
        return [*head[:middle], *head[middle].rsplit("::", len(names) - middle - 1)]
    return fields(text, "::", names, file, line)


def _films(
    folder: Path,
    ending: str,
    ids: Ids,
    tags: dict[str, tuple[str, ...]],
    descriptions: dict[str, str],
) -> dict[str, ClientChange]:
    path, items = find(folder, f"movies{ending}"), dict[str, ClientChange]()
    for line, (raw, title, genres) in _rows(path, MOVIES) if path else ():
        file = plain_name(path) if path else ""
        item = ids.checked(raw, file, line, MOVIES[0])
        unique(items, item, file, line, MOVIES[0])
        if not title.strip():
            raise BrokenData(file, line, MOVIES[1], "is empty; give a title")
        title_of(title, file, line, MOVIES[1])
        items[item] = described(
            film(item, title, genres_of(genres), descriptions, tags.get(item, ())), file, line
        )
    return items


def _users(folder: Path, ids: Ids) -> dict[str, ClientChange]:
    path, users = find(folder, "users.dat"), dict[str, ClientChange]()
    for line, values in _rows(path, USERS) if path else ():
        file = plain_name(path) if path else ""
        user = ids.checked(values[0], file, line, USERS[0])
        unique(users, user, file, line, USERS[0])
        known = dict(zip(USERS[1:4], values[1:4], strict=True))
        users[user] = described(
            ClientChange(key=ClientKey(kind=ClientKind.USER, id=user), metadata=known), file, line
        )
    return users


def _ratings(folder: Path, ending: str, ids: Ids) -> Events:
    path, log, ratings = find(folder, f"ratings{ending}"), Events("ml"), Ratings()
    for line, (user, item, rating, time) in _rows(path, RATINGS) if path else ():
        file = plain_name(path) if path else ""
        log.append(
            ids.checked(user, file, line, RATINGS[0]),
            ids.checked(item, file, line, RATINGS[1]),
            moment(time, file, line, RATINGS[3]),
            ratings.metadata(rating, file, line, RATINGS[2]),
        )
    return log


def _tags(folder: Path, ending: str, ids: Ids) -> dict[str, tuple[str, ...]]:
    """{film: the tags that at least two users gave it, most given first}: its attributes."""
    path = find(folder, f"tags{ending}")
    givers: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for line, (user, item, tag, time) in _rows(path, TAGS) if path else ():
        file = plain_name(path) if path else ""
        moment(time, file, line, TAGS[3])
        for name in entries([normalize_name(tag)]):
            givers[ids.checked(item, file, line, TAGS[1])][name].add(
                ids.checked(user, file, line, TAGS[0])
            )
    return {
        item: tuple(
            name
            for name, users in sorted(tags.items(), key=lambda pair: (-len(pair[1]), pair[0]))[
                :TAGS_A_FILM
            ]
            if len(users) >= TAGGERS
        )
        for item, tags in givers.items()
    }
