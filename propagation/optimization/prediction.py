"""Prediction (RecNet 2.4, eq. 6 and 7): which of two items would the user choose?"""

from collections.abc import Sequence

from propagation.model.errors import ReasonerFailed
from propagation.model.interactions.reasoning import ReasonWork
from propagation.model.usage import Usage
from propagation.optimization.candidate_order import mixed_word
from propagation.ports.reasoner import AnswerPart, MergeAnswer, Party, Reasoner


async def receive_and_predict(
    reasoner: Reasoner, work: ReasonWork, parties: Sequence[Party], seed: int
) -> tuple[Sequence[AnswerPart[MergeAnswer]], int | None, Usage]:
    """(eq. 5 for each of user, positive and negative item, in this order; the reward of eq. 7: 1 if
    the positive was chosen, else 0, None without a negative; what it cost). Candidates come in
    seeded random order, so that no reasoner can answer by position. Raises ReasonerFailed."""
    user, *candidates = parties
    if len(candidates) == 1:
        answer = await reasoner.forward(work, user, candidates, None)
        return answer.merges, None, answer.usage
    positive_first = bool(mixed_word(work.sequence, seed) & 1)
    scores = None
    if work.score_positive is not None and work.score_negative is not None:
        scores = (work.score_positive, work.score_negative)
    if not positive_first:
        candidates.reverse()
        scores = scores and (scores[1], scores[0])
    answer = await reasoner.forward(work, user, candidates, scores)
    if answer.prediction is None:
        raise ReasonerFailed("no prediction", answer.usage)
    if isinstance(answer.prediction, ReasonerFailed):
        raise type(answer.prediction)(f"no prediction: {answer.prediction}", answer.usage)
    merges = (
        answer.merges if positive_first else (answer.merges[0], answer.merges[2], answer.merges[1])
    )
    return merges, int(answer.prediction.chose_first == positive_first), answer.usage
