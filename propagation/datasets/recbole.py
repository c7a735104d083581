"""Load RecBole atomic files: .inter, .item and .user.

They are tab-separated, with a heading of `name:type`.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from propagation.datasets.dataset import Dataset, Events, assemble
from propagation.datasets.line_reader import (
    IdChecker,
    Place,
    clean,
    clean_entries,
    clean_name,
    find_all,
    number_lines,
    split_list,
)
from propagation.model import (
    TEXT_MAX_CHARS,
    ClientChange,
    ClientKey,
    ClientKind,
    check_metadata,
    check_text,
    pluralize,
)

TYPES = ("token", "token_seq", "float", "float_seq")
# Names in RecBole's published atomic files.
USER_IDS = ("user_id", "session_id")
ITEM_IDS = ("item_id", "business_id", "artist_id", "movie_id", "book_id", "news_id")
TIMES = ("timestamp", "time", "unixreviewtime", "date")
TITLES = (
    "title",
    "item_name",
    "movie_title",
    "book_title",
    "original_title",
    "name",
    "product_name",
    "artist_name",
    "song_title",
)
DESCRIPTIONS = ("description", "abstract", "summary", "overview", "plot")
CATEGORIES = (
    "category",
    "categories",
    "genre",
    "genres",
    "class",
    "main_category",
    "sub_category",
    "subcategory",
)
ATTRIBUTES = ("attributes", "attribute", "tags", "tag", "tags_value", "keywords")
CANDIDATE_TYPES = {"user_id": "token", "item_id_list": "token_seq"}
METADATA_CHARS = 200
EMPTY_WORDS = frozenset(["(no genres listed)", "unknown", "n/a", "none", "nan", "null", "\\n"])


class Table:
    """One atomic file: the types of its fields, and its rows."""

    def __init__(self, path: Path) -> None:
        self._lines = number_lines(path)
        self.heading, text = next(self._lines, (Place(clean_name(path), 1), ""))
        self.types: dict[str, str] = {}
        for part in text.split("\t"):
            name, _, kind = part.strip().rpartition(":")
            if not name or kind not in TYPES:
                raise self.heading.refusal(
                    part.strip()[:60] or "heading",
                    f"is not name:type, as the first line needs it; types: {', '.join(TYPES)}",
                )
            if name in self.types:
                raise self.heading.refusal(name, "appears twice in the heading; keep one of them")
            self.types[name] = kind

    def rows(self) -> Iterator[tuple[Place, dict[str, str]]]:
        """Read each line as {field: value}, with values of their types.

        The file is read once: a second call yields nothing.
        """
        names = list(self.types)
        for place, text in self._lines:
            row = dict(zip(names, place.split(text, "\t", names), strict=True))
            for name, kind in self.types.items():
                self._check(row[name], kind, place, name)
            yield place, row

    def find_field(self, names: tuple[str, ...]) -> str | None:
        """Return the field that has the earliest of these names, or None."""
        return next((own for name in names for own in self.types if own.casefold() == name), None)

    def find_id_field(self, names: tuple[str, ...]) -> str:
        """Return the field of the client's id.

        Raises:
            BrokenData: The heading has none of these names.
        """
        name = self.find_field(names)
        if name is None:
            raise self.heading.refusal(
                names[0],
                f"is missing from the heading, which has {', '.join(self.types)}. Rename the field"
                " that holds the ids",
            )
        return name

    def time(self, value: str, place: Place, name: str) -> int:
        """Parse a time: a number or, in a token field, ISO 8601.

        Returns:
            Milliseconds since 1970.
        """
        if self.types[name] == "token" and not value.strip().replace(".", "", 1).isdecimal():
            return place.parse_iso_time(value.strip(), name)
        return place.parse_unix_time(value, name)

    def _check(self, value: str, kind: str, place: Place, name: str) -> None:
        if kind == "float" and value.strip() and name.casefold() not in TIMES:
            place.number(value, name)
        if kind == "float_seq":
            for part in value.replace(",", " ").split():
                place.number(part, name)


class ClientTable(Table):
    """A table of clients, with the names of its fields by use.

    Fields without another use are metadata.
    """

    def __init__(self, path: Path, id_names: tuple[str, ...]) -> None:
        super().__init__(path)
        self.id = self.find_id_field(id_names)
        self.title = self.find_field(TITLES)
        self.description = self.find_field(DESCRIPTIONS)
        self.categories = [name for name in self.types if name.casefold() in CATEGORIES]
        self.attributes = [name for name in self.types if name.casefold() in ATTRIBUTES]
        texts = [self.id, self.title, self.description, *self.categories, *self.attributes]
        self.metadata = [name for name in self.types if name not in texts]


def load_recbole(folder: Path, seed: int) -> Dataset:
    """Load all .inter, .item and .user files of the folder.

    If several files describe a client, the first value of each field is kept. Events without times
    are in a seeded order, and a note says so.

    Raises:
        BrokenData: The first line that cannot be read.
    """
    ids = IdChecker()
    items = _read_clients(folder, "*.item", ClientKind.ITEM, ITEM_IDS, ids)
    users = _read_clients(folder, "*.user", ClientKind.USER, USER_IDS, ids)
    log, notes, timed = _events(folder, ids)
    return assemble(folder.name, items, users, log, seed, notes, timed=timed)


def _read_clients(
    folder: Path,
    pattern: str,
    kind_of_client: ClientKind,
    id_names: tuple[str, ...],
    ids: IdChecker,
) -> dict[str, ClientChange]:
    found: dict[str, ClientChange] = {}
    for path in find_all(folder, pattern):
        table = ClientTable(path, id_names)
        rows: dict[str, tuple[Place, dict[str, str]]] = {}
        for place, row in table.rows():
            name = ids.check_first(row[table.id], place, table.id, rows)
            rows[name] = (place, row)
        separators = {
            field: _read_separator([row[field] for _, row in rows.values()])
            for field, kind in table.types.items()
            if kind.endswith("_seq")
        }
        for name, (place, row) in rows.items():
            change = _client(ClientKey(kind=kind_of_client, id=name), place, row, table, separators)
            found[name] = _merge(found[name], change) if name in found else change
    return found


def _read_separator(values: Sequence[str]) -> str:
    """Find the separator of the entries in a column's lists.

    RecBole's own separator is a space; catalogues that hold phrases use ; | or a comma. In a column
    with "&" the entries are phrases, too, so a space separates nothing.
    """
    for mark in ("; ", "|", ", "):
        if any(mark in value for value in values):
            return mark.strip()
    return ";" if any("&" in value for value in values) else " "


def _client(
    key: ClientKey,
    place: Place,
    row: Mapping[str, str],
    table: ClientTable,
    separators: Mapping[str, str],
) -> ClientChange:
    title = place.check(check_text, clean(row[table.title]), table.title) if table.title else ""
    description = clean(row[table.description])[:TEXT_MAX_CHARS] if table.description else ""
    metadata = {
        name: text[:METADATA_CHARS] for name in table.metadata if (text := clean(row[name]))
    }
    return place.client(
        ClientChange(
            key=key,
            title=title or None,
            description=description or None,
            categories=_collect(row, table.categories, separators) or None,
            attributes=_collect(row, table.attributes, separators) or None,
            metadata=metadata or None,
        )
    )


def _collect(
    row: Mapping[str, str], names: Sequence[str], separators: Mapping[str, str]
) -> tuple[str, ...]:
    """Collect the entries of several columns.

    A column that holds nothing but words like "unknown" is empty; beside other entries such a word
    counts.
    """
    found: list[str] = []
    for name in names:
        parts = (
            split_list(row[name].strip("[]"), separators[name])
            if name in separators
            else (row[name],)
        )
        parts = clean_entries(part.strip("'\" ") for part in parts)
        if not all(part.casefold() in EMPTY_WORDS for part in parts):
            found.extend(parts)
    return clean_entries(found)


def _merge(first: ClientChange, second: ClientChange) -> ClientChange:
    """Fill the missing fields of the first from the second."""
    return first.model_copy(
        update={name: value for name, value in second if getattr(first, name) is None}
    )


def _events(folder: Path, ids: IdChecker) -> tuple[Events, list[str], bool]:
    """Read events.

    Returns:
        The events, notes on them, and whether all have times.
    """
    log, untimed, in_lists = Events("recbole"), [], []
    for path in find_all(folder, "*.inter"):
        table = Table(path)
        user, item = table.find_id_field(USER_IDS), table.find_id_field(ITEM_IDS)
        time = table.find_field(TIMES)
        if time is None:
            untimed.append(clean_name(path))
        others = [
            name
            for name, kind in table.types.items()
            if name not in (user, item, time) and kind in ("float", "token")
        ]
        lists = [
            name
            for name, kind in table.types.items()
            if kind == "token_seq" and name.casefold() == f"{item.casefold()}_list"
        ]
        listed: set[tuple[str, str]] = set()
        for place, row in table.rows():
            metadata = {
                name: text[:METADATA_CHARS] for name in others if (text := row[name].strip())
            }
            for name in lists:
                listed.update((row[user].strip(), one) for one in row[name].split())
            log.append(
                ids.check(row[user], place, user),
                ids.check(row[item], place, item),
                table.time(row[time], place, time) if time else 0,
                place.check(check_metadata, metadata, "metadata"),
            )
        if lists:
            in_lists.append((clean_name(path), lists[0], listed))
    users, items = log.users.values, log.items.values
    logged = {
        (users[user], items[item])
        for user, item in (zip(log.users.codes, log.items.codes, strict=True) if in_lists else ())
    }
    notes = [
        f"{file}: {pluralize(left, 'event')} left out, whose items are only in {field} and"
        " on no line of their own (such as the first of each user's sequence); only the last item"
        " of a line is read as an event."
        for file, field, listed in in_lists
        if (left := len(listed - logged))
    ]
    if untimed:
        notes.insert(
            0,
            f"{', '.join(untimed)} has no time field: its events are in a seeded random order.",
        )
    return log, notes, not untimed


def read_fixed_candidates(folder: Path) -> Mapping[str, Sequence[str]] | None:
    """Read the candidates of each user, in the order of the file.

    Returns:
        Item ids by user; None if the folder has no such file.

    Raises:
        BrokenData: The first line that cannot be read.
    """
    files = find_all(folder, "*.candidates")
    if not files:
        return None
    table = Table(files[0])
    if table.types != CANDIDATE_TYPES:
        expected = " and ".join(f"{name}:{kind}" for name, kind in CANDIDATE_TYPES.items())
        raise table.heading.refusal("heading", f"must be {expected}, with a tab between")
    return {row["user_id"]: row["item_id_list"].split() for _, row in table.rows()}
