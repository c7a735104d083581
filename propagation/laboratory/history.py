"""What a method may learn from, and what it is asked."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from propagation.arrays import I64, Bools
from propagation.datasets.dataset import Dataset


@dataclass(frozen=True)
class History:
    """Interactions in the order of time.

    Users and items are row numbers in the dataset's lists. The order of rows means nothing.

    Attributes:
        users: How many users there are, those without interactions here included; likewise items.
        user: [E] row of the user of each interaction; likewise item.
        time: [E] milliseconds since 1970.
        event: [E] places in the dataset's order of time.
    """

    users: int
    items: int
    user: I64
    item: I64
    time: I64
    event: I64

    @classmethod
    def of(cls, dataset: Dataset, kept: I64) -> "History":
        """Build the history of some events of a dataset.

        Args:
            kept: [E] places in its order of time, ascending.
        """
        user, item, time = dataset.rows()
        return cls(len(dataset.users), len(dataset.items), user[kept], item[kept], time[kept], kept)

    def select(self, kept: slice | I64 | Bools) -> "History":
        """Return these interactions only, in their order."""
        return replace(
            self,
            user=self.user[kept],
            item=self.item[kept],
            time=self.time[kept],
            event=self.event[kept],
        )

    def walk(self, known: I64) -> Iterator[slice]:
        """Yield the places that become known from moment to moment.

        Args:
            known: [Q] how many of the earliest interactions are known, ascending.
        """
        before = 0
        for end in known.tolist():
            yield slice(before, end)
            before = end

    def walk_pairs(self, known: I64) -> Iterator[Iterable[tuple[int, int]]]:
        """Yield the same as pairs of a user and an item."""
        for part in self.walk(known):
            yield zip(self.user[part].tolist(), self.item[part].tolist(), strict=True)

    def list_users_by_item(self) -> dict[int, list[int]]:
        """Return the distinct users of each item that has some, ascending."""
        users: dict[int, list[int]] = {}
        for user, items in enumerate(self.list_items_by_user()):
            for item in items.tolist():
                users.setdefault(item, []).append(user)
        return users

    def list_items_by_user(self) -> list[I64]:
        """Return the distinct items of each user, ascending.

        They are found once: each method and each protocol asks for them.
        """
        return self._items_by_user

    @cached_property
    def _items_by_user(self) -> list[I64]:
        pairs = np.unique(self.user * self.items + self.item)
        return np.split(
            pairs % self.items, np.searchsorted(pairs // self.items, np.arange(1, self.users))
        )


class Targets(NamedTuple):
    """Interactions to predict.

    Attributes:
        user: [T] row of the user; likewise item. Unless `known` says how much is known of each
            target, no user comes twice.
        time: [T] milliseconds since 1970.
        held_out: [T] all items of the user that are held out, if a protocol needs several.
        known: [T] how many of the history's earliest interactions are known at each target,
            ascending; None: all.
    """

    user: I64
    item: I64
    time: I64
    held_out: Sequence[I64] = ()
    known: I64 | None = None


class Questions(NamedTuple):
    """Candidates to score for users.

    Attributes:
        user: [Q] row of the user.
        time: [Q] the moment, in milliseconds since 1970.
        candidates: [Q,C] rows of items.
    """

    user: I64
    time: I64
    candidates: I64


class Known(NamedTuple):
    """How much is known of the users and items of T targets.

    Attributes:
        history: [T] known interactions of the user.
        adopters: [T] users of whom an interaction with the item is known.
    """

    history: I64
    adopters: I64


def count_known(history: History, targets: Targets) -> Known:
    """Count what is known of each target's user and item."""
    ends = np.full(len(targets.user), len(history.user)) if targets.known is None else targets.known
    interactions = np.zeros(history.users, np.int64)
    adopters = np.zeros(history.items, np.int64)
    had: set[tuple[int, int]] = set()
    known = np.empty((len(ends), 2), np.int64)
    for row, (user, item, pairs) in enumerate(
        zip(targets.user.tolist(), targets.item.tolist(), history.walk_pairs(ends), strict=True)
    ):
        for pair in pairs:
            interactions[pair[0]] += 1
            adopters[pair[1]] += pair not in had
            had.add(pair)
        known[row] = interactions[user], adopters[item]
    return Known(known[:, 0], known[:, 1])
