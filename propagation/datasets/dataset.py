"""The common form of every dataset: clients, and events as columns.

Columns take about thirty bytes an event, so that tens of millions fit in memory.
"""

from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from typing import NamedTuple

import numpy as np

from propagation.datasets.time_order import find_order_problem
from propagation.model import I64, ID_MAX_BYTES, ClientChange, ClientKey, ClientKind, pluralize

ABSENT = -1
NO_METADATA: Mapping[str, str] = {}
ESCAPES = str.maketrans({"%": "%25", ":": "%3A", "~": "%7E"})


class Event(NamedTuple):
    """One interaction of a dataset.

    `time` is in milliseconds since 1970. Ratings and the like are metadata.
    """

    event_id: str
    user_id: str
    item_id: str
    time: int
    negative_id: str | None = None
    weight: float = 1.0
    metadata: Mapping[str, str] = NO_METADATA


@dataclass
class CodedColumn:
    """A column of repeated strings, stored as a code for each event.

    Each distinct value is stored once.
    """

    numbers: dict[str, int] = field(default_factory=dict)
    codes: "array[int]" = field(default_factory=lambda: array("i"))

    def append(self, value: str) -> None:
        """Add the value of the next event."""
        self.codes.append(self.numbers.setdefault(value, len(self.numbers)))

    def put(self, place: int, value: str) -> None:
        """Set the value of event `place`, which lies past the column's end.

        Events in between have no value.
        """
        self.codes.extend([ABSENT] * (place - len(self.codes)))
        self.append(value)

    @property
    def values(self) -> Sequence[str]:
        """The distinct values, by code."""
        return list(self.numbers)


@dataclass
class Events:
    """Events, appended in file order and read in time order.

    Equal times are ordered by a seed, never by the place in the file. An event without an id is
    named kind:user:item:time, with ~2, ~3, ... for repeats, so that another release of the same
    data gives the same names.

    Args:
        kind: The beginning of such names.
        timed: Whether the times are the data's own, and part of such names.
    """

    kind: str
    timed: bool = True
    users: CodedColumn = field(default_factory=CodedColumn)
    items: CodedColumn = field(default_factory=CodedColumn)
    negatives: CodedColumn = field(default_factory=CodedColumn)
    times: "array[int]" = field(default_factory=lambda: array("q"))
    metadata: dict[str, CodedColumn] = field(default_factory=dict)
    weights: dict[int, float] = field(default_factory=dict)
    event_ids: dict[int, str] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.times)

    def append(
        self,
        user: str,
        item: str,
        time: int,
        metadata: Mapping[str, str] = NO_METADATA,
        *,
        event_id: str | None = None,
        negative: str | None = None,
        weight: float = 1.0,
    ) -> None:
        """Add an event; `time` is in milliseconds since 1970."""
        place = len(self.times)
        self.users.append(user)
        self.items.append(item)
        self.times.append(time)
        for name, value in metadata.items():
            self.metadata.setdefault(name, CodedColumn()).put(place, value)
        if event_id is not None:
            self.event_ids[place] = event_id
        if negative is not None:
            self.negatives.put(place, negative)
        if weight != 1.0:
            self.weights[place] = weight

    def order(self, seed: int) -> I64:
        """Return the places [events] of the events, sorted by time.

        The seed orders events of equal time.
        """
        shuffled = np.random.default_rng(seed).permutation(len(self))
        times = np.asarray(self.times, np.int64)
        return shuffled[np.argsort(times[shuffled], kind="stable")]

    def read(self, places: I64) -> Iterator[Event]:
        """Read the events at these places, in this order."""
        users, items, negatives = self.users.values, self.items.values, self.negatives.values
        repeats = self._count_repeats()
        columns = [(name, column.values, column.codes) for name, column in self.metadata.items()]
        for place in places.tolist():
            negative = self.negatives.codes[place] if place < len(self.negatives.codes) else ABSENT
            metadata = {
                name: values[codes[place]]
                for name, values, codes in columns
                if place < len(codes) and codes[place] != ABSENT
            }
            user, item = users[self.users.codes[place]], items[self.items.codes[place]]
            time = self.times[place]
            yield Event(
                self.event_ids.get(place) or self._name(user, item, time, int(repeats[place])),
                user,
                item,
                time,
                None if negative == ABSENT else negatives[negative],
                self.weights.get(place, 1.0),
                metadata,
            )

    def _name(self, user: str, item: str, time: int, repeat: int) -> str:
        """Make an event id.

        An id that would be too long holds a digest instead.
        """
        parts = [user.translate(ESCAPES), item.translate(ESCAPES)]
        content = ":".join([*parts, str(time)] if self.timed else parts)
        end = f"~{repeat + 1}" if repeat else ""
        if len(self.kind) + 1 + len(content.encode()) + len(end) > ID_MAX_BYTES:
            content = blake2b(content.encode(), digest_size=16).hexdigest()
        return f"{self.kind}:{content}{end}"

    def _count_repeats(self) -> I64:
        """Count the earlier repeats of each event.

        A repeat has the same user and item and, if the times are the data's own, the same time.

        Returns:
            Counts [events].
        """
        group = np.asarray(self.users.codes, np.int64)
        for column in (self.items.codes, self.times) if self.timed else (self.items.codes,):
            _, codes = np.unique(np.asarray(column, np.int64), return_inverse=True)
            _, group = np.unique(group * len(codes) + codes, return_inverse=True)
        order = np.argsort(group, kind="stable")
        ordered = group[order]
        repeats = np.empty(len(order), np.int64)
        repeats[order] = np.arange(len(order)) - np.searchsorted(ordered, ordered)
        return repeats


@dataclass(frozen=True)
class Dataset:
    """A dataset that was read and checked as a whole.

    Args:
        items: Every item of the catalogue or of an event, also without text.
        users: Every user, likewise.
        log: The events in the order of the file.
        order: [events] places in `log`, by time; the loader's seed orders equal times.
        notes: One sentence for each thing that was created, left out or cut.
        generated: Whether the data is generated, not real.
        timed: Whether all events have times of their own. Else their order is that of lines, or
            drawn by the loader's seed; a note says which.
    """

    name: str
    items: Sequence[ClientChange]
    users: Sequence[ClientChange]
    log: Events
    order: I64
    notes: tuple[str, ...] = ()
    generated: bool = False
    timed: bool = True

    def __len__(self) -> int:
        """Return the number of events."""
        return len(self.order)

    def find_order_problem(self) -> str:
        """Find out why times do not order the events.

        Only times of the data's own count. Returns "" if they do.
        """
        if not self.timed:
            return "the events have no times"
        user, _, time = self.rows()
        return find_order_problem(user, time)

    @property
    def clients(self) -> Sequence[ClientChange]:
        """All clients, items first, so that items are known before their events."""
        return [*self.items, *self.users]

    @property
    def events(self) -> Iterator[Event]:
        """All events in the order of time."""
        return self.log.read(self.order)

    def rows(self) -> tuple[I64, I64, I64]:
        """Return the events as arrays, in the order of time.

        Returns:
            (user, item, time), each [events]: the rows in `users` and in `items`, and milliseconds
            since 1970.
        """
        return (
            _rows(self.log.users, self.users)[self.order],
            _rows(self.log.items, self.items)[self.order],
            np.asarray(self.log.times, np.int64)[self.order],
        )

    def between(self, start: int, end: int) -> Iterator[Event]:
        """Read events `start` to `end` (excluded) of the order of time."""
        return self.log.read(self.order[start:end])

    def first(self, events: int | None) -> "Dataset":
        """Return the earliest events (None: all), their users, and the whole catalogue."""
        if events is None or events >= len(self):
            return self
        order = self.order[:events]
        active = np.unique(_rows(self.log.users, self.users)[order]).tolist()
        return replace(
            self,
            order=order,
            users=[self.users[row] for row in active],
            notes=(
                *self.notes,
                f"Only the earliest {events:,} of {len(self):,} events are used, with their"
                f" {pluralize(len(active), 'user')}.",
            ),
        )


def assemble(
    name: str,
    items: Mapping[str, ClientChange],
    users: Mapping[str, ClientChange],
    log: Events,
    seed: int,
    notes: Iterable[str] = (),
    generated: bool = False,
    timed: bool = True,
) -> Dataset:
    """Build a dataset from its parts.

    Clients that only events name are created without text; a note counts such items.

    Args:
        seed: Orders events of equal time.
        timed: Whether all events have times of their own.
    """
    unknown = dict.fromkeys(
        item for item in (*log.items.numbers, *log.negatives.numbers) if item not in items
    )
    if unknown:
        lacking = (
            "are in events and not in the catalogue"
            if items
            else "are in events, and there is no catalogue"
        )
        notes = (*notes, f"Items that {lacking}: {len(unknown):,}. They are created without text.")
    return Dataset(
        name,
        items=[*items.values(), *(create_without_text(ClientKind.ITEM, item) for item in unknown)],
        users=[
            *users.values(),
            *(
                create_without_text(ClientKind.USER, user)
                for user in log.users.numbers
                if user not in users
            ),
        ],
        log=log,
        order=log.order(seed),
        notes=tuple(notes),
        generated=generated,
        timed=timed,
    )


def create_without_text(kind: ClientKind, name: str) -> ClientChange:
    """Return a client of which only the id is known."""
    return ClientChange(key=ClientKey(kind=kind, id=name))


def _rows(column: CodedColumn, clients: Sequence[ClientChange]) -> I64:
    places = {client.key.id: place for place, client in enumerate(clients)}
    by_code = np.array([places.get(name, ABSENT) for name in column.numbers] or [ABSENT], np.int64)
    return by_code[np.asarray(column.codes, np.int64)]
