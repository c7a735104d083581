"""The common form of every dataset."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from propagation.datasets.event_columns import ABSENT, Coded, Event, Events
from propagation.model.clients.client import ClientChange, ClientKey, ClientKind
from propagation.model.plurals import pluralize


@dataclass(frozen=True)
class Dataset:
    """Parsed whole and checked. `items` and `users` hold every client that an event names, those
    without text too. `order` [events] are places in `log`, by time, ties by the loader's seed.
    `notes`: what a person should know (what was made up, left out or clipped), one sentence each.
    `generated`: no real data."""

    name: str
    items: Sequence[ClientChange]
    users: Sequence[ClientChange]
    log: Events
    order: NDArray[np.int64]
    notes: tuple[str, ...] = ()
    generated: bool = False

    def __len__(self) -> int:
        """How many events."""
        return len(self.order)

    @property
    def clients(self) -> Iterator[ClientChange]:
        """Items first: an event's item is known before anybody adopts it."""
        yield from self.items
        yield from self.users

    @property
    def events(self) -> Iterator[Event]:
        """In time order."""
        return self.log.read(self.order)

    def rows(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """(user, item, time), each [events] in time order: rows of `users` and of `items`,
        milliseconds since 1970."""
        return (
            _rows(self.log.users, self.users)[self.order],
            _rows(self.log.items, self.items)[self.order],
            np.asarray(self.log.times, np.int64)[self.order],
        )

    def between(self, start: int, end: int) -> Iterator[Event]:
        """Events `start` (included) to `end` (excluded) of the time order."""
        return self.log.read(self.order[start:end])

    def first(self, events: int) -> "Dataset":
        """The earliest events only, and only the users who take part in them; the catalogue stays
        whole."""
        if events >= len(self):
            return self
        order = self.order[:events]
        names = self.log.users.values
        active = {names[code] for code in set(self.log.users.array(len(self.log))[order].tolist())}
        note = f"Only the earliest {events:,} of {len(self):,} events are used, and who is in them: {pluralize(len(active), 'user')}."
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
    """A dataset from what was parsed; clients that only events name are created without text, and
    noted."""
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
    everything = [*items.values(), *(bare(ClientKind.ITEM, item) for item in unknown)]
    everybody = [
        *users.values(),
        *(bare(ClientKind.USER, user) for user in log.users.numbers if user not in users),
    ]
    return Dataset(name, everything, everybody, log, log.order(seed), tuple(notes), generated)


def _rows(column: Coded, clients: Sequence[ClientChange]) -> NDArray[np.int64]:
    places = {client.key.id: place for place, client in enumerate(clients)}
    by_number = np.array(
        [places.get(name, ABSENT) for name in column.numbers] or [ABSENT], np.int64
    )
    return by_number[np.asarray(column.codes, np.int64)]


def bare(kind: ClientKind, name: str) -> ClientChange:
    """A client of which only the id is known."""
    return ClientChange(key=ClientKey(kind=kind, id=name))
