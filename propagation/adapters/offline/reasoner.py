"""The offline reasoner: RecNet's prompts answered from structure.

It needs no model, is deterministic, and takes microseconds.
"""

from collections.abc import Sequence

from propagation.adapters.offline.evolve import decide
from propagation.adapters.offline.extract import extract_lines
from propagation.adapters.offline.gradient import write_gradients
from propagation.adapters.offline.merge import merge_messages
from propagation.adapters.offline.optimizer import optimize_client
from propagation.adapters.offline.summarize import summarize_router
from propagation.model import (
    NO_EXPENSES,
    Client,
    ReasonerFailed,
    ReasonWork,
    RouterCase,
    RouterDecision,
)
from propagation.ports import (
    AnswerPart,
    BackwardAnswer,
    ExtractAnswer,
    ForwardAnswer,
    Integration,
    MergeAnswer,
    OptimizeAnswer,
    Party,
    RankAnswer,
    SummarizeAnswer,
    Summary,
)


class OfflineReasoner:
    """The offline reasoner; ports/reasoner.py explains each answer."""

    name = predictor = router_writer = "offline-1"
    asks_model = False
    concurrency = 1
    clients_a_call = 10
    router_batch_size = 1
    pause_reason = ""
    expenses = NO_EXPENSES

    def __init__(self, profile_lines: int = 12) -> None:
        """Divide the lines of a profile.

        A quarter is for heard lines, the others are for lines from the catalogue and interactions.
        """
        self._heard = max(1, profile_lines // 4)
        self._not_heard = max(1, profile_lines - self._heard)

    def keep_for(self, interactions: int) -> None:
        """Do nothing: no question waits for another one."""

    def stop_within(self, seconds: float) -> None:
        """Do nothing: no call is under way."""

    async def close(self) -> None:
        """Do nothing: nothing is open."""

    async def extract(self, clients: Sequence[Client]) -> ExtractAnswer:
        return ExtractAnswer([extract_lines(client) for client in clients])

    async def merge(self, party: Party) -> MergeAnswer:
        return merge_messages(party, self._heard)

    async def forward(
        self,
        work: ReasonWork,
        user: Party,
        candidates: Sequence[Party],
        scores: tuple[float, float] | None,
    ) -> ForwardAnswer:
        """Merge messages, and predict the choice.

        The prediction is by the learner's scores, or without them by shared attributes.
        """
        merges: list[AnswerPart[MergeAnswer]] = [
            await self.merge(party) if party.messages else MergeAnswer()
            for party in (user, *candidates)
        ]
        if len(candidates) == 1:
            return ForwardAnswer(merges, None)
        first, second = scores or [
            len(user.profile.attributes & item.profile.attributes) for item in candidates
        ]
        return ForwardAnswer(merges, first > second)

    async def backward(
        self,
        work: ReasonWork,
        reward: int | None,
        user: Party,
        positive: Party,
        negative: Party | None,
    ) -> BackwardAnswer:
        parties = (user, positive) if negative is None else (user, positive, negative)
        return BackwardAnswer(
            () if reward is None else write_gradients(work, reward, user, positive, negative),
            [
                await self.optimize(work, reward, party, positive if party is user else user)
                for party in parties
            ],
        )

    async def optimize(
        self, work: ReasonWork, reward: int | None, party: Party, other: Party
    ) -> OptimizeAnswer:
        """Optimise one client after it met `other` (eq. 9).

        The other one is the positive item for the user, and the user for an item.
        """
        return optimize_client(work, reward, party, other, self._not_heard)

    async def summarize(self, routers: Sequence[Integration]) -> SummarizeAnswer:
        return SummarizeAnswer(
            [
                Summary(
                    "",
                    summarize_router(
                        one.router, one.arrived, one.standing, one.common, one.examples
                    ),
                )
                for one in routers
            ]
        )

    async def rank(self, user: Party, candidates: Sequence[Party]) -> RankAnswer:
        """Fail: this reasoner has no better order than the numbers."""
        raise ReasonerFailed("the offline reasoner cannot rank; the learned numbers can")

    async def decide_router(self, case: RouterCase) -> RouterDecision:
        return decide(case)
