"""Events as columns: some thirty bytes an event, so that tens of millions fit in memory, once.

An event that has no id of its own is named by what it says, kind:user:item:time, and ~2, ~3, ...
where it is said again: another release of the same data names what both hold the same, wherever it
stands."""

from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from propagation.model.clients.client import ID_MAX_BYTES

ABSENT = -1
NOTHING: Mapping[str, str] = {}
ESCAPED = str.maketrans({"%": "%25", ":": "%3A", "~": "%7E"})


class Event(NamedTuple):
    """One interaction as a dataset tells it. `time` in milliseconds since 1970; ratings and the
    like are metadata."""

    event_id: str
    user_id: str
    item_id: str
    time: int
    negative_id: str | None = None
    weight: float = 1.0
    metadata: Mapping[str, str] = NOTHING


class Coded:
    """A column of repeated strings: each distinct value once, and its number for each event; -1
    where absent."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}
        self.codes = array("i")

    def append(self, value: str) -> None:
        self.codes.append(self.numbers.setdefault(value, len(self.numbers)))

    def put(self, place: int, value: str) -> None:
        """The value at a place past the end; absent in between."""
        self.codes.extend([ABSENT] * (place - len(self.codes)))
        self.append(value)

    @property
    def values(self) -> Sequence[str]:
        """The distinct values, by number."""
        return list(self.numbers)

    def array(self, size: int) -> NDArray[np.int32]:
        """[size] numbers of the values, absent at the end."""
        out = np.full(size, ABSENT, np.int32)
        out[: len(self.codes)] = np.asarray(self.codes, np.int32)
        return out


@dataclass
class Events:
    """Appended in file order, read in time order. Equal times are ordered by a seed, never by place
    in the file. `kind` of data: with what made-up ids begin. `timed`: times are the data's, and
    part of these ids."""

    kind: str
    timed: bool = True
    users: Coded = field(default_factory=Coded)
    items: Coded = field(default_factory=Coded)
    negatives: Coded = field(default_factory=Coded)
    times: "array[int]" = field(default_factory=lambda: array("q"))
    metadata: dict[str, Coded] = field(default_factory=dict)
    weights: dict[int, float] = field(default_factory=dict)
    event_ids: dict[int, str] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.times)

    def append(
        self, user: str, item: str, time: int, metadata: Mapping[str, str] = NOTHING
    ) -> None:
        """`time` in milliseconds since 1970."""
        place = len(self.times)
        self.users.append(user)
        self.items.append(item)
        self.times.append(time)
        for name, value in metadata.items():
            self.metadata.setdefault(name, Coded()).put(place, value)

    def append_event(self, event: Event) -> None:
        """An event that says more of itself: its id, a negative, a weight."""
        place = len(self.times)
        self.append(event.user_id, event.item_id, event.time, event.metadata)
        if event.event_id:
            self.event_ids[place] = event.event_id
        if event.negative_id is not None:
            self.negatives.put(place, event.negative_id)
        if event.weight != 1.0:
            self.weights[place] = event.weight

    def order(self, seed: int) -> NDArray[np.int64]:
        """[events] places in file order, sorted by time."""
        shuffled = np.random.default_rng(seed).permutation(len(self))
        times = np.asarray(self.times, np.int64)
        return shuffled[np.argsort(times[shuffled], kind="stable")]

    def read(self, places: NDArray[np.int64]) -> Iterator[Event]:
        """The events at these places, in this order."""
        users, items, negatives = self.users.values, self.items.values, self.negatives.values
        repeats = self._repeats()
        columns = [(name, column.values, column.codes) for name, column in self.metadata.items()]
        for place in places.tolist():
            negative = self.negatives.codes[place] if place < len(self.negatives.codes) else ABSENT
            metadata = {
                name: values[codes[place]]
                for name, values, codes in columns
                if place < len(codes) and codes[place] != ABSENT
            }
            user, item, time = (
                users[self.users.codes[place]],
                items[self.items.codes[place]],
                self.times[place],
            )
            event_id = self.event_ids.get(place) or self._made_up(
                user, item, time, int(repeats[place])
            )
            yield Event(
                event_id,
                user,
                item,
                time,
                None if negative == ABSENT else negatives[negative],
                self.weights.get(place, 1.0),
                metadata,
            )

    def _made_up(self, user: str, item: str, time: int, repeat: int) -> str:
        """One that would be too long is a digest."""
        said = ":".join(
            (user.translate(ESCAPED), item.translate(ESCAPED), *([str(time)] if self.timed else []))
        )
        end = f"~{repeat + 1}" if repeat else ""
        if len(self.kind) + 1 + len(said.encode()) + len(end) > ID_MAX_BYTES:
            said = blake2b(said.encode(), digest_size=16).hexdigest()
        return f"{self.kind}:{said}{end}"

    def _repeats(self) -> NDArray[np.int64]:
        """[events] how many before it in file order say the same user and item at the same time."""
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
