"""JSON Lines: one object a line, with the proto's names.

Values are taken exactly as given, or refused. If no line has a time, events are in the order of the
lines; otherwise every line needs one.

Source: docs/data.md (fields, types and limits).
"""

import json
import math
import sys
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from types import UnionType
from typing import Any

from propagation.datasets.dataset import Dataset, assembled
from propagation.datasets.event_columns import Event, Events
from propagation.datasets.line_reader import IdChecker, Place, find, lines_of
from propagation.model import (
    ClientChange,
    ClientKey,
    ClientKind,
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


class DuplicateName(Exception):
    """A name stands twice in one JSON object."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name


class Row:
    """One object of a file. Its methods read a field, check it, and raise BrokenData."""

    def __init__(self, place: Place, values: Mapping[str, object], ids: IdChecker) -> None:
        self.place = place
        self._values, self._ids = values, ids

    def id(self, name: str) -> str:
        """Read a required id: a string, or a whole number as its digits."""
        value = self._value(
            name, str | int, "is neither a string nor a whole number; write the id as a string"
        )
        if value is None:
            raise self.place.refusal(name, "is missing; give an id")
        return self._ids.check(str(value), self.place, name)

    def optional_id(self, name: str) -> str | None:
        """Read an id that may be missing."""
        return None if self._values.get(name) is None else self.id(name)

    def text(self, name: str) -> str | None:
        """Read a string."""
        value = self._value(name, str, "is not a string")
        return None if value is None else self.place.check(check_text, value, name)

    def names(self, name: str) -> tuple[str, ...] | None:
        """Read a list of strings; an empty one counts as missing."""
        value = self._value(name, list, "is not a list of strings") or []
        if not all(isinstance(part, str) for part in value):
            raise self.place.refusal(name, "is not a list of strings")
        return self.place.check(check_list, value, name) or None

    def flag(self, name: str) -> bool | None:
        """Read true or false."""
        flag: bool | None = self._value(name, bool, "is neither true nor false")
        return flag

    def metadata(self) -> dict[str, str]:
        """Read the metadata; values that are not strings are kept as JSON writes them."""
        problem = "is not an object of plain values"
        value = self._value("metadata", dict, problem) or {}
        if any(isinstance(part, dict | list) for part in value.values()):
            raise self.place.refusal("metadata", problem)
        plain = {
            name: part if isinstance(part, str) else json.dumps(part)
            for name, part in value.items()
            if part is not None
        }
        return self.place.check(check_metadata, plain, "metadata")

    def time(self) -> int | None:
        """Read the time in milliseconds since 1970."""
        value = self._value("time", int | float | str, "is neither a number nor a string")
        if value is None:
            return None
        if isinstance(value, str):
            return self.place.iso_time(value, "time")
        return self.place.unix_time(repr(value), "time")

    def weight(self) -> float:
        """Read the weight; 1 if missing."""
        value = self._value("weight", int | float, "is not a number")
        if value is None:
            return 1.0
        # An integer of hundreds of digits does not fit into a float, and is above the limit.
        weight = float(value) if abs(value) < sys.float_info.max else math.inf
        return self.place.check(check_weight, weight, "weight")

    def _value(self, name: str, kind: type | UnionType, problem: str) -> Any:
        """Read a field of a JSON type; None if it is missing. True and false are no numbers."""
        value = self._values.get(name)
        fits = isinstance(value, kind) and (kind is bool or not isinstance(value, bool))
        if value is not None and not fits:
            raise self.place.refusal(name, problem)
        return value


def load_json_lines(folder: Path, seed: int) -> Dataset:
    """Load clients.jsonl and events.jsonl; either may be missing.

    Raises:
        BrokenData: The first line that cannot be read.
    """
    ids = IdChecker(strip=False)
    clients = _clients(folder, ids)
    events = _events(folder, ids)
    return assembled(folder.name, clients[ClientKind.ITEM], clients[ClientKind.USER], events, seed)


def _rows(path: Path | None, known: frozenset[str], ids: IdChecker) -> Iterator[Row]:
    for place, text in lines_of(path):
        values = _parse(text, place)
        for name in values.keys() - known:
            raise place.refusal(
                _printable(name), f"is not known here; the fields are {', '.join(sorted(known))}"
            )
        yield Row(place, values, ids)


def _parse(text: str, place: Place) -> Mapping[str, object]:
    try:
        values = json.loads(text, object_pairs_hook=_object)
    except DuplicateName as error:
        raise place.refusal(
            _printable(error.name), "stands twice in one object; keep one of them"
        ) from None
    except json.JSONDecodeError as error:
        raise place.refusal("", f"is not JSON ({error})") from None
    except (ValueError, RecursionError):
        raise place.refusal(
            "", "is not read: it nests too deeply, or holds a number of thousands of digits"
        ) from None
    if not isinstance(values, dict):
        raise place.refusal("", "is not a JSON object")
    return values


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    values = dict(pairs)
    if len(values) < len(pairs):
        names = [name for name, _ in pairs]
        raise DuplicateName(next(name for at, name in enumerate(names) if name in names[:at]))
    return values


def _printable(name: str) -> str:
    return name[:60].encode(errors="backslashreplace").decode()


def _clients(folder: Path, ids: IdChecker) -> dict[ClientKind, dict[str, ClientChange]]:
    found: dict[ClientKind, dict[str, ClientChange]] = {kind: {} for kind in ClientKind}
    for row in _rows(find(folder, CLIENTS), CLIENT_FIELDS, ids):
        kind = KINDS.get(row.text("kind") or "")
        if kind is None:
            raise row.place.refusal("kind", 'is neither "user" nor "item"')
        name = row.id("id")
        row.place.refuse_second(found[kind], name, "id")
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


def _events(folder: Path, ids: IdChecker) -> Events:
    log, timed, event_ids = Events("jsonl"), None, set[str]()
    for row in _rows(find(folder, EVENTS), EVENT_FIELDS, ids):
        time, event_id = row.time(), row.optional_id("event_id")
        item, negative = row.id("item_id"), row.optional_id("negative_item_id")
        timed = time is not None if timed is None else timed
        if timed != (time is not None):
            raise row.place.refusal(
                "time", "is on some lines only; give it on all lines or on none"
            )
        if event_id in event_ids:
            raise row.place.refusal(
                "event_id", f"{event_id!r} was used on an earlier line; give this event its own id"
            )
        row.place.check(partial(check_negative, item), negative, "negative_item_id")
        if event_id:
            event_ids.add(event_id)
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
