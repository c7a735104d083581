"""What a method may learn from, and what it is asked."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from propagation.arrays import I64
from propagation.datasets.dataset import Dataset


@dataclass(frozen=True)
class History:
    """Interactions in the order of time.

    Users and items are rows of the dataset's lists, whose order means nothing.

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

    def list_items_by_user(self) -> list[I64]:
        """Return the distinct items of each user, ascending."""
        pairs = np.unique(self.user * self.items + self.item)
        return np.split(
            pairs % self.items, np.searchsorted(pairs // self.items, np.arange(1, self.users))
        )


class Targets(NamedTuple):
    """Interactions to predict.

    Attributes:
        user: [T] row of the user; no user comes twice. Likewise item.
        time: [T] milliseconds since 1970.
    """

    user: I64
    item: I64
    time: I64


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


def split_last(dataset: Dataset) -> tuple[History, Targets]:
    """Split a dataset for leave-last-one-out.

    Each user's last interaction is a target, and all others are known. A user with one interaction
    has no target.

    Source:
        RecNet, 3.1.3.
    """
    user, item, time = dataset.rows()
    users, events = len(dataset.users), len(user)
    last = np.full(users, -1)
    last[user] = np.arange(events)
    chosen = np.sort(last[np.bincount(user, minlength=users) > 1])
    known = np.ones(events, np.bool_)
    known[chosen] = False
    return (
        History(
            users,
            len(dataset.items),
            user[known],
            item[known],
            time[known],
            np.flatnonzero(known),
        ),
        Targets(user[chosen], item[chosen], time[chosen]),
    )
