"""Scores of all items for users, by any method, and their ranks."""

import asyncio
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from propagation.arrays import F64, I64
from propagation.laboratory.history import History, Questions
from propagation.laboratory.methods.method import (
    Dependencies,
    LiveMethod,
    LiveScores,
    Measured,
    Method,
    get_measured,
    is_live,
)

MOST_KEPT = 50_000_000
"""Of more scores, all earlier ones are forgotten; a score and its share take 16 bytes."""


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

    The same request is answered once. A recommendation agent, a feedback loop and the method itself
    ask for the same scores, and some methods take minutes. They may ask at the same time.
    """

    def __init__(self, method: Method) -> None:
        self.method = method
        self._found: dict[tuple[int, int, bytes], tuple[History, ItemScores]] = {}
        self._asking = asyncio.Lock()

    async def score(self, history: History, user: I64, time: I64, seed: int) -> ItemScores:
        """Learn a history, and score all items for users at moments.

        Args:
            user: [Q] rows; likewise `time`, in milliseconds.

        Raises:
            MethodNotInstalled: The method's packages are missing.
            MethodFailed: The method ended with an error.
        """
        # The history is kept with its scores, so that no later one has its identity.
        key = (id(history), seed, user.tobytes() + time.tobytes())
        async with self._asking:
            if key not in self._found:
                if sum(one.scores.size for _, one in self._found.values()) > MOST_KEPT:
                    self._found.clear()
                self._found[key] = history, await self._score(history, user, time, seed)
            return self._found[key][1]

    async def _score(self, history: History, user: I64, time: I64, seed: int) -> ItemScores:
        everything = np.tile(np.arange(history.items), (len(user), 1))
        scores = await self.method.score(history, Questions(user, time, everything), seed)
        had = history.list_items_by_user()
        shares = [compute_shares(row, had[one]) for row, one in zip(scores, user, strict=True)]
        return ItemScores(scores, np.array(shares).reshape(scores.shape))


@dataclass(frozen=True)
class ScoredOnce:
    """A method whose scores are also those of agents around it."""

    scorer: ItemScorer

    @property
    def name(self) -> str:
        return self.scorer.method.name

    @property
    def depends_on(self) -> Dependencies:
        return self.scorer.method.depends_on

    async def score(self, history: History, questions: Questions, seed: int) -> F64:
        found = await self.scorer.score(history, questions.user, questions.time, seed)
        return found.scores[np.arange(len(questions.user))[:, None], questions.candidates]

    def get_measured(self, seed: int) -> Measured:
        return get_measured(self.scorer.method, seed)


@dataclass(frozen=True)
class LiveScoredOnce(ScoredOnce):
    """The same for a method that follows events.

    What it answers live is computed for itself alone: agents around it ask for other scores.
    """

    live: LiveMethod

    def follow(self, history: History, questions: Questions, known: I64, seed: int) -> LiveScores:
        return self.live.follow(history, questions, known, seed)


def share_scores(scorer: ItemScorer) -> ScoredOnce:
    """Return a scorer's method, which learns once for agents, too."""
    method = scorer.method
    return LiveScoredOnce(scorer, method) if is_live(method) else ScoredOnce(scorer)


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
