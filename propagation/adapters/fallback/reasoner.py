"""A reasoner that answers if another one fails.

It marks its answers in Usage.fallback.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import TypeVar

from propagation.model import (
    Client,
    Expenses,
    ReasonerFailed,
    ReasonerStopping,
    ReasonerUnavailable,
    ReasonWork,
    RouterCase,
    RouterDecision,
    Usage,
)
from propagation.ports import (
    BackwardAnswer,
    ExtractAnswer,
    ForwardAnswer,
    Integration,
    MergeAnswer,
    Party,
    RankAnswer,
    Reasoner,
    SummarizeAnswer,
)

Answer = TypeVar(
    "Answer", BackwardAnswer, ExtractAnswer, ForwardAnswer, MergeAnswer, SummarizeAnswer
)


class FallbackReasoner:
    """Asks `first`, and `other` if `first` failed.

    With `unavailable`, `other` also answers while `first` is unavailable. Parts of an answer that
    failed alone stay failed, except a prediction: an interaction can't go on without one.
    """

    def __init__(self, first: Reasoner, other: Reasoner, *, unavailable: bool) -> None:
        self._first = first
        self._other = other
        self._passed_on = ReasonerStopping if unavailable else ReasonerUnavailable
        self._mark = Usage(fallback=other.name)
        self.name = first.name
        self.asks_model = first.asks_model
        self.concurrency = first.concurrency
        self.router_batch_size = first.router_batch_size

    @property
    def pause_reason(self) -> str:
        return self._first.pause_reason

    @property
    def expenses(self) -> Expenses:
        return self._first.expenses

    def stop_within(self, seconds: float) -> None:
        self._first.stop_within(seconds)
        self._other.stop_within(seconds)

    async def close(self) -> None:
        await self._first.close()
        await self._other.close()

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
        if not isinstance(answer.prediction, ReasonerFailed):
            return answer
        instead = await self._other.forward(work, user, candidates, scores)
        return replace(answer, prediction=instead.prediction, usage=answer.usage + self._mark)

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

    async def rank(self, user: Party, candidates: Sequence[Party]) -> RankAnswer:
        """Rank without a fallback: the numbers' order is better than a guess."""
        return await self._first.rank(user, candidates)

    async def decide_router(self, case: RouterCase) -> RouterDecision:
        """Decide without a fallback.

        A router without a decision stays as it is.
        """
        return await self._first.decide_router(case)

    async def _ask_or_fall_back(self, ask: Callable[[Reasoner], Awaitable[Answer]]) -> Answer:
        try:
            return await ask(self._first)
        except self._passed_on:
            raise
        except ReasonerFailed as error:
            answer = await ask(self._other)
            return replace(answer, usage=error.usage + answer.usage + self._mark)
