"""Load the MovieLens datasets.

The files of 100k are u.data (white space between fields), u.item, u.genre and u.user (bars). The
files of 1M and 10M have `::` between fields; those of 20M, 25M, 32M and latest are CSV. All files
but CSV may be in Latin-1.
"""

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from propagation.datasets.dataset import Dataset, Events, assemble
from propagation.datasets.line_reader import (
    IdChecker,
    Place,
    clean,
    clean_entries,
    find_all,
    number_lines,
    read_csv_rows,
    split_list,
)
from propagation.model import (
    TEXT_MAX_CHARS,
    ClientChange,
    ClientKey,
    ClientKind,
    check_metadata,
    check_text,
    keep_first,
    normalize_name,
    pluralize,
)

YEAR = re.compile(r"\s*\((\d{4})\)\s*$")
ARTICLE_LAST = re.compile(
    r"^(.*), (The|A|An|Les|Le|La|L'|Il|El|Das|Der|Die|Los|Las|Un|Une)(?=$| \()", re.IGNORECASE
)
MARKED_TITLE = re.compile(r"<([^<>]{1,200})>")
NO_GENRES = frozenset(["(no genres listed)"])
MOVIES = ("movieId", "title", "genres")
RATINGS = ("userId", "movieId", "rating", "timestamp")
TAGS = ("userId", "movieId", "tag", "timestamp")
USERS = ("userId", "gender", "age", "occupation", "zip")
TAGGERS, TAGS_A_FILM = 2, 10
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
# The word of 100k for a genre or a title that it does not know.
UNKNOWN = frozenset(["unknown"])
BEFORE_GENRES = ("movie id", "movie title", "release date", "video release date", "IMDb URL")
RATINGS_100K = ("user id", "item id", "rating", "timestamp")
USERS_100K = ("user id", "age", "gender", "occupation", "zip code")


Rows = Iterable[tuple[Place, Sequence[str]]]
"""Rows of a file: their places, and one value for each field."""


def reorder_title(raw: str) -> str:
    """Return "Usual Suspects, The (1995)" as "The Usual Suspects (1995)"."""
    return ARTICLE_LAST.sub(lambda found: f"{found[2]} {found[1]}", clean(raw))


def fold_title(title: str) -> str:
    """Return a key that two spellings of one title share.

    The key has the title's words in lower case, without article, accents, punctuation, year and
    names in brackets.
    """
    plain = unicodedata.normalize("NFKD", reorder_title(YEAR.sub("", title)).casefold())
    plain = re.sub(r"\([^)]*\)", " ", plain)
    words = re.findall(r"[^\W_]+", re.sub(r"[̀-ͯ']", "", plain))
    return " ".join(words[1:] if len(words) > 1 and words[0] in ("the", "a", "an") else words)


def load_movielens_100k(folder: Path, seed: int) -> Dataset:
    """Load u.item, u.user and u.data; each may be missing.

    Raises:
        BrokenData: The first line that cannot be read.
    """
    ids, descriptions = IdChecker(), _read_descriptions(folder)
    items = _read_films_of_100k(folder, ids, descriptions)
    users = _read_users(_rows(folder, "u.user", USERS_100K, "|"), USERS_100K, ids)
    # Any white space: there are copies of u.data in which some tabs became spaces.
    log = _read_ratings("ml-100k", _rows(folder, "u.data", RATINGS_100K, None), RATINGS_100K, ids)
    return assemble(folder.name, items, users, log, seed, _note(items, descriptions))


def load_movielens(folder: Path, seed: int, ending: str) -> Dataset:
    """Load movies, ratings and tags, and a .dat folder's users.

    Each file may be missing.

    Args:
        ending: The ending of the files, ".dat" or ".csv".

    Raises:
        BrokenData: The first line that cannot be read.
    """
    ids, descriptions = IdChecker(), _read_descriptions(folder)
    items = _read_films(folder, ending, ids, _read_tags(folder, ending, ids), descriptions)
    users = _read_users(_rows(folder, "users.dat", USERS), USERS, ids) if ending == ".dat" else {}
    log = _read_ratings("ml", _rows(folder, f"ratings{ending}", RATINGS), RATINGS, ids)
    return assemble(folder.name, items, users, log, seed, _note(items, descriptions))


def _rows(
    folder: Path, name: str, fields: Sequence[str], separator: str | None = "::"
) -> Iterator[tuple[Place, list[str]]]:
    """Read the rows of a file that may be missing.

    Args:
        separator: Stands between fields (None: white space) in any file but CSV, which has a
            heading instead.
    """
    for path in find_all(folder, name):
        if name.endswith(".csv"):
            yield from read_csv_rows(path, fields)
        else:
            for place, text in number_lines(path, "latin-1"):
                yield place, _split(text, fields, separator, place)


def _split(text: str, names: Sequence[str], separator: str | None, place: Place) -> list[str]:
    """Split a line into its fields.

    A title or tag of a .dat file may itself hold `::`.
    """
    middle = next((number for number, name in enumerate(names) if name in ("title", "tag")), None)
    if middle is not None and text.count("::") >= len(names):
        head = text.split("::", middle)
        return [*head[:middle], *head[middle].rsplit("::", len(names) - middle - 1)]
    return place.split(text, separator, names)


def _build_film(
    item: str,
    raw_title: str,
    genres: tuple[str, ...],
    descriptions: dict[str, str],
    attributes: tuple[str, ...] = (),
) -> ClientChange:
    """Return a film as a client.

    The year in its title is metadata, too.

    Args:
        descriptions: By `fold_title`.
    """
    year = YEAR.search(raw_title)
    return ClientChange(
        key=ClientKey(kind=ClientKind.ITEM, id=item),
        title=reorder_title(raw_title) or None,
        description=descriptions.get(fold_title(raw_title)),
        attributes=attributes or None,
        categories=genres or None,
        metadata={"year": year[1]} if year else None,
    )


def _read_users(rows: Rows, fields: Sequence[str], ids: IdChecker) -> dict[str, ClientChange]:
    """Read users: an id, and three fields of metadata."""
    users: dict[str, ClientChange] = {}
    for place, values in rows:
        user = ids.check_first(values[0], place, fields[0], users)
        users[user] = place.client(
            ClientChange(
                key=ClientKey(kind=ClientKind.USER, id=user),
                metadata=dict(zip(fields[1:4], values[1:4], strict=True)),
            )
        )
    return users


def _read_ratings(kind: str, rows: Rows, fields: Sequence[str], ids: IdChecker) -> Events:
    """Read events from rows of user, item, rating and time.

    Each distinct spelling of a rating is checked once.

    Args:
        kind: As in Events.
    """
    log = Events(kind)
    checked: dict[str, Mapping[str, str]] = {}
    for place, (user, item, rating, time) in rows:
        user_id, item_id = ids.check(user, place, fields[0]), ids.check(item, place, fields[1])
        milliseconds = place.parse_unix_time(time, fields[3])
        if rating not in checked:
            place.number(rating, fields[2])
            checked[rating] = place.check(check_metadata, {"rating": rating.strip()}, "metadata")
        log.append(user_id, item_id, milliseconds, checked[rating])
    return log


def _read_descriptions(folder: Path) -> dict[str, str]:
    """Read descriptions.csv, if present, as {`fold_title`: description}."""
    texts = (
        # The file marks titles as <Title>.
        (fold_title(title), clean(MARKED_TITLE.sub(lambda marked: marked[1].strip(), description)))
        for _, (title, description) in _rows(folder, "descriptions.csv", ("title", "description"))
    )
    return keep_first((title, text[:TEXT_MAX_CHARS]) for title, text in texts if title and text)


def _note(items: dict[str, ClientChange], descriptions: dict[str, str]) -> tuple[str, ...]:
    """Say for how many films a description was found."""
    if not descriptions:
        return ()
    described = sum(item.description is not None for item in items.values())
    return (
        f"Descriptions were joined by title for {described:,} of {pluralize(len(items), 'film')}.",
    )


def _read_films(
    folder: Path,
    ending: str,
    ids: IdChecker,
    tags: dict[str, tuple[str, ...]],
    descriptions: dict[str, str],
) -> dict[str, ClientChange]:
    items: dict[str, ClientChange] = {}
    for place, (raw, title, genres) in _rows(folder, f"movies{ending}", MOVIES):
        item = ids.check_first(raw, place, MOVIES[0], items)
        if not title.strip():
            raise place.refusal(MOVIES[1], "is empty; give a title")
        items[item] = place.client(
            _build_film(
                item, title, split_list(genres, "|", NO_GENRES), descriptions, tags.get(item, ())
            )
        )
    return items


def _read_tags(folder: Path, ending: str, ids: IdChecker) -> dict[str, tuple[str, ...]]:
    """Return the attributes of each film, from its tags.

    They are at most ten tags, each given by at least two users, most given first.
    """
    users_of: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for place, (user, item, tag, time) in _rows(folder, f"tags{ending}", TAGS):
        place.parse_unix_time(time, TAGS[3])
        for name in clean_entries([normalize_name(tag)]):
            checked_item = ids.check(item, place, TAGS[1])
            users_of[checked_item][name].add(ids.check(user, place, TAGS[0]))
    return {item: _find_most_given(tags) for item, tags in users_of.items()}


def _find_most_given(tags: dict[str, set[str]]) -> tuple[str, ...]:
    ranked = sorted(tags.items(), key=lambda pair: (-len(pair[1]), pair[0]))
    return tuple(name for name, users in ranked[:TAGS_A_FILM] if len(users) >= TAGGERS)


def _read_genres_of_100k(folder: Path) -> dict[int, str]:
    found = {}
    for place, (name, number) in _rows(folder, "u.genre", ("genre", "number"), "|"):
        if not number.strip().isdecimal():
            raise place.refusal("number", f"{number[:40]!r} is not a whole number")
        found[int(number)] = name
    return found or dict(enumerate(GENRES))


def _read_films_of_100k(
    folder: Path, ids: IdChecker, descriptions: dict[str, str]
) -> dict[str, ClientChange]:
    genres = _read_genres_of_100k(folder)
    names = (
        *BEFORE_GENRES,
        *(genres.get(number, f"genre {number}") for number in range(max(genres) + 1)),
    )
    items: dict[str, ClientChange] = {}
    for place, values in _rows(folder, "u.item", names, "|"):
        item = ids.check_first(values[0], place, names[0], items)
        flags = dict(zip(names[len(BEFORE_GENRES) :], values[len(BEFORE_GENRES) :], strict=True))
        title = place.check(check_text, clean(values[1]), names[1])
        shown = "" if title.casefold() in UNKNOWN else title
        items[item] = place.client(
            _build_film(item, shown, _read_genres(flags, place), descriptions)
        )
    return items


def _read_genres(flags: dict[str, str], place: Place) -> tuple[str, ...]:
    """Return the genres whose flag is 1."""
    for name, flag in flags.items():
        if flag.strip() not in ("0", "1"):
            raise place.refusal(name, f"{flag[:40]!r} is neither 0 nor 1")
    return clean_entries((name for name, flag in flags.items() if flag.strip() == "1"), UNKNOWN)
