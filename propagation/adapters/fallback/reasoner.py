"""A reasoner that answers if another one fails.

It marks its answers in Usage.fallback.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import TypeVar

from propagation.adapters.fallback.reasoner_pair import ReasonerPair
from propagation.model import (
    Client,
    ReasonerFailed,
    ReasonerStopping,
    ReasonerUnavailable,
    ReasonWork,
    Usage,
)
from propagation.ports import (
    BackwardAnswer,
    ExtractAnswer,
    ForwardAnswer,
    Integration,
    MergeAnswer,
    Party,
    Reasoner,
    SummarizeAnswer,
)

Answer = TypeVar(
    "Answer", BackwardAnswer, ExtractAnswer, ForwardAnswer, MergeAnswer, SummarizeAnswer
)


class FallbackReasoner(ReasonerPair):
    """Asks `first`, and `other` if `first` failed.

    With `unavailable`, `other` also answers while `first` is unavailable. Parts of an answer that
    failed alone stay failed, except a prediction: an interaction can't go on without one.

    There is no fallback for rankings, because the numbers' order is better than a guess, nor for
    decisions on routers: a router without a decision stays as it is.
    """

    def __init__(self, first: Reasoner, other: Reasoner, *, unavailable: bool) -> None:
        super().__init__(first, other)
        self._passed_on = ReasonerStopping if unavailable else ReasonerUnavailable
        self._mark = Usage(fallback=other.name)

    async def extract(self, clients: Sequence[Client]) -> ExtractAnswer:
        """Extract attributes; fall back only if every text failed.

        The mark in the usage is therefore true of every text. If only some texts failed, they are
        extracted again later.
        """
        answer = await self._ask_or_fall_back(lambda one: one.extract(clients))
        of_texts = [
            part for client, part in zip(clients, answer.edits, strict=True) if client.has_text
        ]
        if not of_texts or not all(isinstance(part, ReasonerFailed) for part in of_texts):
            return answer
        instead = await self._other.extract(clients)
        return replace(instead, usage=answer.usage + instead.usage + self._mark)

    async def merge(self, party: Party) -> MergeAnswer:
        return await self._ask_or_fall_back(lambda one: one.merge(party))

    async def forward(
        self,
        work: ReasonWork,
        user: Party,
        candidates: Sequence[Party],
        scores: tuple[float, float] | None,
    ) -> ForwardAnswer:
        answer = await self._ask_or_fall_back(
            lambda one: one.forward(work, user, candidates, scores)
        )
        if isinstance(answer.prediction, ReasonerFailed):
            instead = await self._other.forward(work, user, candidates, scores)
            answer = replace(answer, prediction=instead.prediction, usage=answer.usage + self._mark)
        if answer.usage.fallback and answer.prediction is not None:
            answer = replace(answer, predicted_by=self._other.name)
        return answer

    async def backward(
        self,
        work: ReasonWork,
        reward: int | None,
        user: Party,
        positive: Party,
        negative: Party | None,
    ) -> BackwardAnswer:
        return await self._ask_or_fall_back(
            lambda one: one.backward(work, reward, user, positive, negative)
        )

    async def summarize(self, routers: Sequence[Integration]) -> SummarizeAnswer:
        return await self._ask_or_fall_back(lambda one: one.summarize(routers))

    async def _ask_or_fall_back(self, ask: Callable[[Reasoner], Awaitable[Answer]]) -> Answer:
        try:
            return await ask(self._first)
        except self._passed_on:
            raise
        except ReasonerFailed as error:
            answer = await ask(self._other)
            return replace(answer, usage=error.usage + answer.usage + self._mark)
