"""Events as columns: about thirty bytes an event, so that tens of millions fit in memory."""

from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from propagation.model import ID_MAX_BYTES

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


class CodedColumn:
    """A column of repeated strings: each distinct value once, and a code for each event."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}
        self.codes = array("i")

    def append(self, value: str) -> None:
        """Add the value of the next event."""
        self.codes.append(self.numbers.setdefault(value, len(self.numbers)))

    def put(self, place: int, value: str) -> None:
        """Set the value of an event past the end; events in between have none."""
        self.codes.extend([ABSENT] * (place - len(self.codes)))
        self.append(value)

    @property
    def values(self) -> Sequence[str]:
        """The distinct values, by code."""
        return list(self.numbers)

    def array(self, size: int) -> NDArray[np.int32]:
        """Return the codes [size]; ABSENT for events past the end."""
        out = np.full(size, ABSENT, np.int32)
        out[: len(self.codes)] = np.asarray(self.codes, np.int32)
        return out


@dataclass
class Events:
    """Events, appended in the order of the file and read in the order of time.

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
        self, user: str, item: str, time: int, metadata: Mapping[str, str] = NO_METADATA
    ) -> None:
        """Add an event; `time` is in milliseconds since 1970."""
        place = len(self.times)
        self.users.append(user)
        self.items.append(item)
        self.times.append(time)
        for name, value in metadata.items():
            self.metadata.setdefault(name, CodedColumn()).put(place, value)

    def append_event(self, event: Event) -> None:
        """Add an event that may have an id, a negative and a weight."""
        place = len(self.times)
        self.append(event.user_id, event.item_id, event.time, event.metadata)
        if event.event_id:
            self.event_ids[place] = event.event_id
        if event.negative_id is not None:
            self.negatives.put(place, event.negative_id)
        if event.weight != 1.0:
            self.weights[place] = event.weight

    def order(self, seed: int) -> NDArray[np.int64]:
        """Return the places of the events [events], sorted by time."""
        shuffled = np.random.default_rng(seed).permutation(len(self))
        times = np.asarray(self.times, np.int64)
        return shuffled[np.argsort(times[shuffled], kind="stable")]

    def read(self, places: NDArray[np.int64]) -> Iterator[Event]:
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
        """Make an event id; one that would be too long holds a digest instead."""
        parts = [user.translate(ESCAPES), item.translate(ESCAPES)]
        content = ":".join([*parts, str(time)] if self.timed else parts)
        end = f"~{repeat + 1}" if repeat else ""
        if len(self.kind) + 1 + len(content.encode()) + len(end) > ID_MAX_BYTES:
            content = blake2b(content.encode(), digest_size=16).hexdigest()
        return f"{self.kind}:{content}{end}"

    def _count_repeats(self) -> NDArray[np.int64]:
        """Count, for each event [events], earlier ones of the same user, item and time."""
        keys = [
            np.asarray(column, np.int64)
            for column in (self.times, self.items.codes, self.users.codes)
        ]
        if not self.timed:
            keys = keys[1:]
        order = np.lexsort(keys)
        size = len(order)
        first = np.ones(size, np.bool_)
        for key in keys if size else ():
            ordered = key[order]
            first[1:] &= ordered[1:] == ordered[:-1]
        first[1:] = ~first[1:]
        start = np.maximum.accumulate(np.where(first, np.arange(size), 0))
        repeats = np.empty(size, np.int64)
        repeats[order] = np.arange(size) - start
        return repeats
