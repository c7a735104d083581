"""RecBole atomic files: tab-separated, a heading of `name:type`; .inter, .item and .user, of one
prefix or of several."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from propagation.datasets.dataset import Dataset, assembled
from propagation.datasets.event_columns import Events
from propagation.datasets.line_reader import (
    Ids,
    described,
    event_metadata,
    fields,
    lines_of,
    moment,
    number,
    plain_name,
    title_of,
    twice,
    written_moment,
)
from propagation.datasets.text_cleaning import cleaned, entries, split_list
from propagation.model.clients.client import TEXT_MAX_CHARS, ClientChange, ClientKey, ClientKind
from propagation.model.errors import BrokenData

TYPES = ("token", "token_seq", "float", "float_seq")
# The names that RecBole's published atomic files have; another one may be an id, or anything else.
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
METADATA_CHARS = 200
NOTHING = frozenset(["(no genres listed)", "unknown", "n/a", "none", "nan", "null", "\\n"])


@dataclass
class Table:
    """One atomic file's heading, and its rows as they are read."""

    path: Path
    types: dict[str, str] = field(default_factory=dict)
    _heading_line: int = 1

    @property
    def file(self) -> str:
        return plain_name(self.path)

    def rows(self) -> Iterator[tuple[int, dict[str, str]]]:
        """(line, {field: value}), each value checked against its type. Raises BrokenData."""
        names: list[str] = []
        for line, text in lines_of(self.path):
            if not names:
                names = self._take_heading(text, line)
                continue
            row = dict(zip(names, fields(text, "\t", names, self.file, line), strict=True))
            for name, kind in self.types.items():
                self._check(row[name], kind, line, name)
            yield line, row

    def heading(self) -> None:
        """Read the types only."""
        for line, text in lines_of(self.path):
            self._take_heading(text, line)
            return
        raise BrokenData(
            self.file,
            1,
            "heading",
            "the file is empty; its first line must name fields as name:type",
        )

    def one_of(self, names: tuple[str, ...]) -> str | None:
        """The file's field that bears the first of these names it has."""
        return next((own for name in names for own in self.types if own.casefold() == name), None)

    def id_field(self, names: tuple[str, ...]) -> str:
        """The same, of a client's id. Raises BrokenData."""
        name = self.one_of(names)
        if name is None:
            raise BrokenData(
                self.file,
                self._heading_line,
                names[0],
                f"the heading lacks it; it has {', '.join(self.types)}. Rename the field that holds the ids",
            )
        return name

    def _take_heading(self, text: str, line: int) -> list[str]:
        self.types = {}
        self._heading_line = line
        for part in text.split("\t"):
            name, _, kind = part.strip().rpartition(":")
            if not name or kind not in TYPES:
                raise BrokenData(
                    self.file,
                    line,
                    part.strip()[:60] or "heading",
                    f"is not name:type; types: {', '.join(TYPES)}",
                )
            if name in self.types:
                raise BrokenData(self.file, line, name, "stands twice in the heading")
            self.types[name] = kind
        return list(self.types)

    def moment(self, value: str, line: int, name: str) -> int:
        """Milliseconds since 1970 of a number, or, in a token, of a date as ISO 8601 writes it.
        Raises BrokenData."""
        if self.types[name] == "token" and not value.strip().replace(".", "", 1).isdecimal():
            return written_moment(value.strip(), self.file, line, name)
        return moment(value, self.file, line, name)

    def _check(self, value: str, kind: str, line: int, name: str) -> None:
        if kind == "float" and value.strip() and name.casefold() not in TIMES:
            number(value, self.file, line, name)
        if kind == "float_seq":
            for part in value.replace(",", " ").split():
                number(part, self.file, line, name)


def load_recbole(folder: Path, seed: int) -> Dataset:
    """All .inter, .item and .user files of the folder. Of a client in several files the first text
    of a field stays. Events without times are in one seeded order, and the notes say so. Raises
    BrokenData."""
    ids = Ids()
    items = _clients(folder, ".item", ClientKind.ITEM, ITEM_IDS, ids)
    users = _clients(folder, ".user", ClientKind.USER, USER_IDS, ids)
    log, notes = _events(folder, ids)
    return assembled(folder.name, items, users, log, seed, notes)


def atomic_files(folder: Path, ending: str) -> list[Path]:
    """In the order of their names. Raises BrokenData where one is there plain and as .gz."""
    found = sorted(
        path for path in folder.iterdir() if path.is_file() and plain_name(path).endswith(ending)
    )
    for first, second in pairwise(found):
        if plain_name(first) == plain_name(second):
            raise twice(plain_name(first))
    return found


def _clients(
    folder: Path, ending: str, kind: ClientKind, id_names: tuple[str, ...], ids: Ids
) -> dict[str, ClientChange]:
    found: dict[str, ClientChange] = {}
    for path in atomic_files(folder, ending):
        table = Table(path)
        table.heading()
        key = table.id_field(id_names)
        rows: dict[str, tuple[int, dict[str, str]]] = {}
        for line, row in table.rows():
            name = ids.checked(row[key], table.file, line, key)
            if name in rows:
                raise BrokenData(
                    table.file,
                    line,
                    key,
                    f"{name[:40]!r} was described on an earlier line; keep one of them",
                )
            rows[name] = (line, row)
        separators = {
            name: _separator([row[name] for _, row in rows.values()])
            for name, typed in table.types.items()
            if typed.endswith("_seq")
        }
        for name, (line, row) in rows.items():
            change = _client(ClientKey(kind=kind, id=name), table, line, row, key, separators)
            found[name] = _merged(found[name], change) if name in found else change
    return found


def _separator(values: Sequence[str]) -> str:
    """What parts this column's lists: RecBole's own is a space, catalogues that hold phrases use ;
    | or a comma."""
    for mark in ("; ", "|", ", "):
        if any(mark in value for value in values):
            return mark.strip()
    return ";" if any("&" in value for value in values) else " "


def _client(
    key: ClientKey,
    table: Table,
    line: int,
    row: Mapping[str, str],
    id_name: str,
    separators: Mapping[str, str],
) -> ClientChange:
    roles = {names: table.one_of(names) for names in (TITLES, DESCRIPTIONS)}
    lists = {
        names: [own for own in table.types if own.casefold() in names]
        for names in (CATEGORIES, ATTRIBUTES)
    }
    used = {
        id_name,
        *filter(None, roles.values()),
        *(name for group in lists.values() for name in group),
    }
    title = title_of(row[name], table.file, line, name) if (name := roles[TITLES]) else ""
    description = cleaned(row[name])[:TEXT_MAX_CHARS] if (name := roles[DESCRIPTIONS]) else ""
    categories, attributes = (
        _listed(row, lists[role], separators) for role in (CATEGORIES, ATTRIBUTES)
    )
    metadata = {
        name: text[:METADATA_CHARS]
        for name, value in row.items()
        if name not in used and (text := cleaned(value))
    }
    change = ClientChange(
        key=key,
        title=title or None,
        description=description or None,
        categories=categories or None,
        attributes=attributes or None,
        metadata=metadata or None,
    )
    return described(change, table.file, line)


def _listed(
    row: Mapping[str, str], names: list[str], separators: Mapping[str, str]
) -> tuple[str, ...]:
    """Of all these columns. One that only holds a word for "nothing" holds nothing; beside others
    the word may be meant."""
    found: list[str] = []
    for name in names:
        parts = (
            split_list(row[name].strip("[]"), separators[name])
            if name in separators
            else (row[name],)
        )
        parts = entries(part.strip("'\" ") for part in parts)
        if not all(part.casefold() in NOTHING for part in parts):
            found.extend(parts)
    return entries(found)


def _merged(first: ClientChange, second: ClientChange) -> ClientChange:
    """What the first file leaves open, from the second."""
    missing = {
        name: value for name, value in second if value is not None and getattr(first, name) is None
    }
    return first.model_copy(update=missing)


def _events(folder: Path, ids: Ids) -> tuple[Events, tuple[str, ...]]:
    log, untimed = Events("recbole"), []
    for path in atomic_files(folder, ".inter"):
        table = Table(path)
        table.heading()
        user, item, time = table.id_field(USER_IDS), table.id_field(ITEM_IDS), table.one_of(TIMES)
        if time is None:
            untimed.append(table.file)
        _append_all(table, user, item, time, log, ids)
    notes = (
        (f"{', '.join(untimed)} has no time field: its events are in a seeded random order.",)
        if untimed
        else ()
    )
    return log, notes


def _append_all(
    table: Table, user: str, item: str, time: str | None, log: Events, ids: Ids
) -> None:
    others = [
        name
        for name, kind in table.types.items()
        if name not in (user, item, time) and kind in ("float", "token")
    ]
    for line, row in table.rows():
        metadata = {name: text[:METADATA_CHARS] for name in others if (text := row[name].strip())}
        log.append(
            ids.checked(row[user], table.file, line, user),
            ids.checked(row[item], table.file, line, item),
            table.moment(row[time], line, time) if time else 0,
            event_metadata(metadata, table.file, line),
        )
