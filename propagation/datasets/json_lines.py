"""JSON Lines: one object a line, under the proto's names; docs/data.md has the fields, their types
and limits.

Everything is taken exactly as it is given, or refused. Where no line has a time, the lines' order
is the order of time; else every line needs one.
"""

import json
import math
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path

from propagation.datasets.dataset import Dataset, assembled
from propagation.datasets.event_columns import Event, Events
from propagation.datasets.line_reader import (
    Checked,
    Given,
    Ids,
    find,
    lines_of,
    moment,
    plain_name,
    unique,
    within,
    written_moment,
)
from propagation.model.clients.client import ClientChange, ClientKey, ClientKind
from propagation.model.errors import BrokenData
from propagation.model.validation import (
    check_list,
    check_metadata,
    check_negative,
    check_text,
    check_weight,
)

CLIENTS, EVENTS = "clients.jsonl", "events.jsonl"
KINDS = {"user": ClientKind.USER, "item": ClientKind.ITEM}
CLIENT_FIELDS = frozenset(
    ["kind", "id", "title", "description", "attributes", "categories", "hidden", "metadata"]
)
EVENT_FIELDS = frozenset(
    ["user_id", "item_id", "event_id", "negative_item_id", "time", "weight", "metadata"]
)


class Row:
    """One object of a file, read field by field and taken exactly as given; every refusal names the
    place."""

    def __init__(self, file: str, line: int, values: Mapping[str, object], ids: Ids) -> None:
        self.file, self.line = file, line
        self._values, self._ids = values, ids

    def broken(self, name: str, problem: str) -> BrokenData:
        return BrokenData(self.file, self.line, name, problem)

    def checked(self, check: Callable[[Given, str], Checked], value: Given, name: str) -> Checked:
        return within(check, value, self.file, self.line, name)

    def id(self, name: str) -> str:
        value = self._values.get(name)
        if value is None:
            raise self.broken(name, "is missing; give an id")
        if isinstance(value, bool) or not isinstance(value, str | int):
            raise self.broken(
                name, "is neither a string nor a whole number; write the id as a string"
            )
        return self._ids.checked(str(value), self.file, self.line, name)

    def optional_id(self, name: str) -> str | None:
        return None if self._values.get(name) is None else self.id(name)

    def text(self, name: str) -> str | None:
        value = self._values.get(name)
        if value is None:
            return None
        if not isinstance(value, str):
            raise self.broken(name, "is not a string")
        return self.checked(check_text, value, name)

    def names(self, name: str) -> tuple[str, ...] | None:
        value = self._values.get(name)
        if value is None:
            return None
        if not isinstance(value, list) or not all(isinstance(part, str) for part in value):
            raise self.broken(name, "is not a list of strings")
        return self.checked(check_list, value, name) or None

    def flag(self, name: str) -> bool | None:
        value = self._values.get(name)
        if value is not None and not isinstance(value, bool):
            raise self.broken(name, "is neither true nor false")
        return value

    def metadata(self) -> dict[str, str]:
        value = self._values.get("metadata")
        if value is None:
            return {}
        if not isinstance(value, dict) or any(
            isinstance(part, dict | list) for part in value.values()
        ):
            raise self.broken("metadata", "is not an object of plain values")
        plain = {
            name: part if isinstance(part, str) else json.dumps(part)
            for name, part in value.items()
            if part is not None
        }
        return self.checked(check_metadata, plain, "metadata")

    def time(self) -> int | None:
        value = self._values.get("time")
        if value is None:
            return None
        if isinstance(value, str):
            return written_moment(value, self.file, self.line, "time")
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self.broken("time", "is neither a number nor a string")
        return moment(repr(value), self.file, self.line, "time")

    def weight(self) -> float:
        value = self._values.get("weight")
        if value is None:
            return 1.0
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self.broken("weight", "is not a number")
        # An integer of hundreds of digits is beyond a float, and beyond the limit.
        return self.checked(
            check_weight, float(value) if abs(value) < sys.float_info.max else math.inf, "weight"
        )


def load_json_lines(folder: Path, seed: int) -> Dataset:
    """clients.jsonl and events.jsonl, either of which may be left out. Raises BrokenData."""
    ids = Ids(stripped=False)
    clients = _clients(folder, ids)
    return assembled(
        folder.name, clients[ClientKind.ITEM], clients[ClientKind.USER], _events(folder, ids), seed
    )


def _rows(path: Path | None, known: frozenset[str], ids: Ids) -> Iterator[Row]:
    for line, text in lines_of(path) if path else ():
        file = plain_name(path) if path else ""
        try:
            values = json.loads(text, object_pairs_hook=_object)
        except Doubled as error:
            raise BrokenData(
                file, line, _shown(error.name), "stands twice in one object; keep one of them"
            ) from None
        except json.JSONDecodeError as error:
            raise BrokenData(file, line, "", f"is not JSON ({error})") from None
        except (ValueError, RecursionError):
            raise BrokenData(
                file,
                line,
                "",
                "is not read: it nests too deeply, or holds a number of thousands of digits",
            ) from None
        if not isinstance(values, dict):
            raise BrokenData(file, line, "", "is not a JSON object")
        for name in values.keys() - known:
            raise BrokenData(
                file,
                line,
                _shown(name),
                f"is not known here; the fields are {', '.join(sorted(known))}",
            )
        yield Row(file, line, values, ids)


class Doubled(Exception):
    """A name that stands twice in one JSON object."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    values = dict(pairs)
    if len(values) < len(pairs):
        names = [name for name, _ in pairs]
        raise Doubled(next(name for place, name in enumerate(names) if name in names[:place]))
    return values


def _shown(name: str) -> str:
    """A field's name that anybody may have written, as it can be printed."""
    return name[:60].encode(errors="backslashreplace").decode()


def _clients(folder: Path, ids: Ids) -> dict[ClientKind, dict[str, ClientChange]]:
    found: dict[ClientKind, dict[str, ClientChange]] = {kind: {} for kind in ClientKind}
    for row in _rows(find(folder, CLIENTS), CLIENT_FIELDS, ids):
        kind = KINDS.get(row.text("kind") or "")
        if kind is None:
            raise row.broken("kind", 'is neither "user" nor "item"')
        name = row.id("id")
        unique(found[kind], name, row.file, row.line, "id")
        found[kind][name] = ClientChange(
            key=ClientKey(kind=kind, id=name),
            title=row.text("title"),
            description=row.text("description"),
            attributes=row.names("attributes"),
            categories=row.names("categories"),
            hidden=row.flag("hidden"),
            metadata=row.metadata() or None,
        )
    return found


def _events(folder: Path, ids: Ids) -> Events:
    log, timed, seen = Events("jsonl"), None, set[str]()
    for row in _rows(find(folder, EVENTS), EVENT_FIELDS, ids):
        time, event_id = row.time(), row.optional_id("event_id")
        item, negative = row.id("item_id"), row.optional_id("negative_item_id")
        timed = time is not None if timed is None else timed
        if timed != (time is not None):
            raise row.broken("time", "is on some lines only; give it on all lines or on none")
        if event_id in seen:
            raise row.broken(
                "event_id", f"{event_id!r} was used on an earlier line; give this event its own id"
            )
        row.checked(partial(check_negative, item), negative, "negative_item_id")
        if event_id:
            seen.add(event_id)
        event = Event(
            event_id or "",
            row.id("user_id"),
            item,
            len(log) if time is None else time,
            negative,
            row.weight(),
            row.metadata(),
        )
        log.append_event(event)
    log.timed = timed is not False
    return log
