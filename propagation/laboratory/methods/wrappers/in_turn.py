"""Methods that compute one after the other, whoever asks them."""

import asyncio
from dataclasses import dataclass

from propagation.arrays import F64
from propagation.laboratory.history import History, Questions
from propagation.laboratory.methods.method import Measured, Method, get_measured


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
    def version(self) -> str:
        return self.method.version

    async def score(self, history: History, questions: Questions, seed: int) -> F64:
        async with self.turn:
            return await self.method.score(history, questions, seed)

    def get_measured(self, seed: int) -> Measured:
        return get_measured(self.method, seed)
