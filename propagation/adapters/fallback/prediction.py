"""A reasoner that leaves the prediction to another one.

The other's name is recorded with each prediction.
"""

from collections.abc import Sequence
from dataclasses import replace

from propagation.adapters.fallback.reasoner_pair import ReasonerPair
from propagation.model import ReasonerFailed, ReasonerUnavailable, ReasonWork
from propagation.ports import ForwardAnswer, MergeAnswer, Party, Reasoner


class DelegatedPrediction(ReasonerPair):
    """Asks `first` for everything but eq. 6, which `other` answers.

    Args:
        first: Predicts nothing: its forward answers have merges alone.
    """

    def __init__(self, first: Reasoner, other: Reasoner) -> None:
        super().__init__(first, other)
        self.predictor = other.name

    async def forward(
        self,
        work: ReasonWork,
        user: Party,
        candidates: Sequence[Party],
        scores: tuple[float, float] | None,
    ) -> ForwardAnswer:
        if len(candidates) == 1:
            return await super().forward(work, user, candidates, scores)
        try:
            answer = await super().forward(work, user, candidates, scores)
        except ReasonerUnavailable:
            raise
        except ReasonerFailed as error:  # no merge is usable; the prediction needs none
            merges = [error if one.messages else MergeAnswer() for one in (user, *candidates)]
            answer = ForwardAnswer(merges, None, error.usage)
        instead = await self._other.forward(work, user, candidates, scores)
        return replace(answer, prediction=instead.prediction, predicted_by=self._other.name)
