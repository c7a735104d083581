"""The common form of every dataset."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from propagation.datasets.event_columns import ABSENT, CodedColumn, Event, Events
from propagation.model import ClientChange, ClientKey, ClientKind, pluralize


@dataclass(frozen=True)
class Dataset:
    """A dataset that was read and checked as a whole.

    Args:
        items: Every item of the catalogue or of an event, also without text.
        users: Likewise.
        log: The events in the order of the file.
        order: [events] places in `log`, by time; the loader's seed orders equal times.
        notes: One sentence for each thing that was created, left out or cut.
        generated: Whether it is no real data.
    """

    name: str
    items: Sequence[ClientChange]
    users: Sequence[ClientChange]
    log: Events
    order: NDArray[np.int64]
    notes: tuple[str, ...] = ()
    generated: bool = False

    def __len__(self) -> int:
        """Return the number of events."""
        return len(self.order)

    @property
    def clients(self) -> Iterator[ClientChange]:
        """All clients; items first, so that an item is known before its first event."""
        yield from self.items
        yield from self.users

    @property
    def events(self) -> Iterator[Event]:
        """All events in the order of time."""
        return self.log.read(self.order)

    def rows(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """Return the events as (user, item, time), each [events], in the order of time.

        Users and items are rows of `users` and `items`; times are milliseconds since 1970.
        """
        return (
            _rows(self.log.users, self.users)[self.order],
            _rows(self.log.items, self.items)[self.order],
            np.asarray(self.log.times, np.int64)[self.order],
        )

    def between(self, start: int, end: int) -> Iterator[Event]:
        """Read events `start` to `end` (excluded) of the order of time."""
        return self.log.read(self.order[start:end])

    def first(self, events: int) -> "Dataset":
        """Return the earliest events, their users, and the whole catalogue."""
        if events >= len(self):
            return self
        order = self.order[:events]
        names = self.log.users.values
        active = {names[code] for code in set(self.log.users.array(len(self.log))[order].tolist())}
        note = (
            f"Only the earliest {events:,} of {len(self):,} events are used, with their"
            f" {pluralize(len(active), 'user')}."
        )
        return replace(
            self,
            order=order,
            users=[user for user in self.users if user.key.id in active],
            notes=(*self.notes, note),
        )


def assembled(
    name: str,
    items: Mapping[str, ClientChange],
    users: Mapping[str, ClientChange],
    log: Events,
    seed: int,
    notes: Iterable[str] = (),
    generated: bool = False,
) -> Dataset:
    """Build a dataset from its parts; clients that only events name get no text, and a note."""
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
    all_items = [*items.values(), *(without_text(ClientKind.ITEM, item) for item in unknown)]
    all_users = [
        *users.values(),
        *(without_text(ClientKind.USER, user) for user in log.users.numbers if user not in users),
    ]
    return Dataset(name, all_items, all_users, log, log.order(seed), tuple(notes), generated)


def without_text(kind: ClientKind, name: str) -> ClientChange:
    """Return a client of which only the id is known."""
    return ClientChange(key=ClientKey(kind=kind, id=name))


def _rows(column: CodedColumn, clients: Sequence[ClientChange]) -> NDArray[np.int64]:
    places = {client.key.id: place for place, client in enumerate(clients)}
    by_code = np.array([places.get(name, ABSENT) for name in column.numbers] or [ABSENT], np.int64)
    return by_code[np.asarray(column.codes, np.int64)]
