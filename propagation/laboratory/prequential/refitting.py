"""Lets a method answer at moments by fitting it anew."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from propagation.arrays import I64
from propagation.laboratory.history import History, Questions
from propagation.laboratory.methods.method import LiveScores, Method


@dataclass(frozen=True)
class Refitted:
    """A method that learns at some moments, and nothing between them.

    Attributes:
        moments: [R] numbers of the history's earliest interactions, ascending: at each of these
            the method is fitted anew.
    """

    method: Method
    moments: I64

    async def follow(
        self, history: History, questions: Questions, known: I64, seed: int
    ) -> LiveScores:
        """Score each question by the last fit before it; see `LiveMethod`."""
        for moment, part in self.split(known):
            some = Questions(*(column[part] for column in questions))
            for scores in await self.method.score(history.select(slice(moment)), some, seed):
                yield scores

    def split(self, known: I64) -> Iterator[tuple[int, slice]]:
        """Yield each moment with the questions that its fit answers."""
        starts = np.searchsorted(known, self.moments).tolist()
        ends = [*starts[1:], len(known)]
        for moment, start, end in zip(self.moments.tolist(), starts, ends, strict=True):
            if start < end:
                yield moment, slice(start, end)

    def find_fits(self, known: I64) -> I64:
        """Return how many interactions the fit knows that answers each question, [Q]."""
        return self.moments[np.searchsorted(self.moments, known, side="right") - 1]
