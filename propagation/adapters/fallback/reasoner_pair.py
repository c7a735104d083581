"""A reasoner with another one that may answer instead."""

from collections.abc import Sequence

from propagation.model import Client, Expenses, ReasonWork, RouterCase, RouterDecision
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


class ReasonerPair:
    """Asks `first`. Subclasses decide what `other` answers instead."""

    def __init__(self, first: Reasoner, other: Reasoner) -> None:
        self._first = first
        self._other = other
        self.name = first.name
        self.predictor = first.predictor
        self.router_writer = first.router_writer
        self.asks_model = first.asks_model
        self.concurrency = first.concurrency
        self.clients_a_call = first.clients_a_call
        self.router_batch_size = first.router_batch_size

    @property
    def pause_reason(self) -> str:
        return self._first.pause_reason

    @property
    def expenses(self) -> Expenses:
        return self._first.expenses

    def keep_for(self, interactions: int) -> None:
        self._first.keep_for(interactions)
        self._other.keep_for(interactions)

    def stop_within(self, seconds: float) -> None:
        self._first.stop_within(seconds)
        self._other.stop_within(seconds)

    async def close(self) -> None:
        await self._first.close()
        await self._other.close()

    async def extract(self, clients: Sequence[Client]) -> ExtractAnswer:
        return await self._first.extract(clients)

    async def merge(self, party: Party) -> MergeAnswer:
        return await self._first.merge(party)

    async def forward(
        self,
        work: ReasonWork,
        user: Party,
        candidates: Sequence[Party],
        scores: tuple[float, float] | None,
    ) -> ForwardAnswer:
        return await self._first.forward(work, user, candidates, scores)

    async def backward(
        self,
        work: ReasonWork,
        reward: int | None,
        user: Party,
        positive: Party,
        negative: Party | None,
    ) -> BackwardAnswer:
        return await self._first.backward(work, reward, user, positive, negative)

    async def summarize(self, routers: Sequence[Integration]) -> SummarizeAnswer:
        return await self._first.summarize(routers)

    async def rank(self, user: Party, candidates: Sequence[Party]) -> RankAnswer:
        return await self._first.rank(user, candidates)

    async def decide_router(self, case: RouterCase) -> RouterDecision:
        return await self._first.decide_router(case)
