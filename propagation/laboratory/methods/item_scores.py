"""Scores of all items for users, by any method, and their ranks."""

from typing import NamedTuple

import numpy as np

from propagation.arrays import F64, I64
from propagation.laboratory.history import History, Questions
from propagation.laboratory.methods.method import Method


class ItemScores(NamedTuple):
    """What a method says of all items.

    Attributes:
        scores: [Q, items] for the users of Q questions.
        shares: [Q, items] the share of the items that the user never had which score lower; equal
            ones count half. So scores of all methods have one scale, from 0 to 1.
    """

    scores: F64
    shares: F64


class ItemScorer:
    """Asks a method to score all items.

    The same request is answered once.
    A recommendation agent and a feedback loop around one method ask for the same scores, and some
    methods take minutes.
    """

    def __init__(self, method: Method) -> None:
        self.method = method
        self._asked: tuple[History, I64, int] | None = None
        self._found: ItemScores | None = None

    async def score(self, history: History, user: I64, time: I64, seed: int) -> ItemScores:
        """Learn a history, and score all items for users at moments.

        Args:
            user: [Q] rows; likewise `time`, in milliseconds.

        Raises:
            MethodNotInstalled: The method's packages are missing.
            MethodFailed: The method ended with an error.
        """
        if self._found is not None and self._asked is not None:
            known, users, known_seed = self._asked
            if known is history and known_seed == seed and np.array_equal(users, user):
                return self._found
        everything = np.tile(np.arange(history.items), (len(user), 1))
        scores = await self.method.score(history, Questions(user, time, everything), seed)
        had = history.list_items_by_user()
        shares = np.array(
            [compute_shares(row, had[one]) for row, one in zip(scores, user, strict=True)]
        ).reshape(scores.shape)
        self._asked, self._found = (history, user, seed), ItemScores(scores, shares)
        return self._found


def compute_shares(scores: F64, had: I64) -> F64:
    """Compute each item's share of unseen items with lower scores.

    Args:
        scores: [items]
        had: Rows of the items that the user had; they are not counted.
    """
    unseen = np.sort(np.delete(scores, had))
    if not len(unseen):
        return np.full(len(scores), 0.5)
    below = np.searchsorted(unseen, scores, "left") + np.searchsorted(unseen, scores, "right")
    shares: F64 = below / (2 * len(unseen))
    return shares
