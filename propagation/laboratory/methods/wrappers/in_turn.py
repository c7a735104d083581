"""Methods that compute one after the other, whoever asks them."""

import asyncio
from contextlib import aclosing
from dataclasses import dataclass

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


@dataclass(frozen=True)
class InTurn:
    """A method that waits until no other one of a run computes.

    Agents that ask a model run side by side, and each may ask for scores. Two replays or two
    programs at once would take each other's cores and memory.

    Attributes:
        turn: Shared by the methods of a run.
    """

    method: Method
    turn: asyncio.Lock

    @property
    def name(self) -> str:
        return self.method.name

    @property
    def depends_on(self) -> Dependencies:
        return self.method.depends_on

    async def score(self, history: History, questions: Questions, seed: int) -> F64:
        async with self.turn:
            return await self.method.score(history, questions, seed)

    def get_measured(self, seed: int) -> Measured:
        return get_measured(self.method, seed)


@dataclass(frozen=True)
class LiveInTurn(InTurn):
    """The same for a method that follows events, in one turn."""

    method: LiveMethod

    async def follow(
        self, history: History, questions: Questions, known: I64, seed: int
    ) -> LiveScores:
        async with (
            self.turn,
            aclosing(self.method.follow(history, questions, known, seed)) as answers,
        ):
            async for scores in answers:
                yield scores


def take_turns(method: Method, turn: asyncio.Lock) -> InTurn:
    """Return a method that computes only while it has its turn."""
    return LiveInTurn(method, turn) if is_live(method) else InTurn(method, turn)
