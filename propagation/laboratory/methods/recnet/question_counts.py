"""Counts the questions to a reasoner, as calls would be counted.

The offline reasoner makes no calls. What it is asked is what a model would be asked, one call for
each question, if forward and backward propagation are fused (docs/llm.md).

Source:
    RecNet 3.4.5.
"""

from collections import Counter
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


class CountedReasoner:
    """Asks another reasoner, and counts the questions by their names.

    Attributes:
        counts: How often each of the port's methods was called.
    """

    def __init__(self, reasoner: Reasoner, *, is_shared: bool = False) -> None:
        """Ask `reasoner`.

        Args:
            is_shared: Others ask it, too, so closing this leaves it open.
        """
        self._reasoner = reasoner
        self._is_shared = is_shared
        self.counts: Counter[str] = Counter()

    @property
    def name(self) -> str:
        return self._reasoner.name

    @property
    def predictor(self) -> str:
        return self._reasoner.predictor

    @property
    def router_writer(self) -> str:
        return self._reasoner.router_writer

    @property
    def pause_reason(self) -> str:
        return self._reasoner.pause_reason

    @property
    def asks_model(self) -> bool:
        return self._reasoner.asks_model

    @property
    def concurrency(self) -> int:
        return self._reasoner.concurrency

    @property
    def clients_a_call(self) -> int:
        return self._reasoner.clients_a_call

    @property
    def router_batch_size(self) -> int:
        return self._reasoner.router_batch_size

    @property
    def expenses(self) -> Expenses:
        return self._reasoner.expenses

    def keep_for(self, interactions: int) -> None:
        if not self._is_shared:
            self._reasoner.keep_for(interactions)

    def stop_within(self, seconds: float) -> None:
        if not self._is_shared:
            self._reasoner.stop_within(seconds)

    async def close(self) -> None:
        if not self._is_shared:
            await self._reasoner.close()

    async def extract(self, clients: Sequence[Client]) -> ExtractAnswer:
        self.counts["extract"] += 1
        return await self._reasoner.extract(clients)

    async def merge(self, party: Party) -> MergeAnswer:
        self.counts["merge"] += 1
        return await self._reasoner.merge(party)

    async def forward(
        self,
        work: ReasonWork,
        user: Party,
        candidates: Sequence[Party],
        scores: tuple[float, float] | None,
    ) -> ForwardAnswer:
        self.counts["forward"] += 1
        return await self._reasoner.forward(work, user, candidates, scores)

    async def backward(
        self,
        work: ReasonWork,
        reward: int | None,
        user: Party,
        positive: Party,
        negative: Party | None,
    ) -> BackwardAnswer:
        self.counts["backward"] += 1
        return await self._reasoner.backward(work, reward, user, positive, negative)

    async def summarize(self, routers: Sequence[Integration]) -> SummarizeAnswer:
        self.counts["summarize"] += 1
        return await self._reasoner.summarize(routers)

    async def rank(self, user: Party, candidates: Sequence[Party]) -> RankAnswer:
        self.counts["rank"] += 1
        return await self._reasoner.rank(user, candidates)

    async def decide_router(self, case: RouterCase) -> RouterDecision:
        self.counts["decide_router"] += 1
        return await self._reasoner.decide_router(case)
