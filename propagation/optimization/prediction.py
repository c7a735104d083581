"""Prediction (RecNet 2.4, eq. 6 and 7): which of two items would the user choose?"""

import numpy as np

from propagation.model.text import ReasonWork
from propagation.numbers.hashing import mixed
from propagation.ports.reasoner import Party, Reasoner


async def predict(reasoner: Reasoner, work: ReasonWork, user: Party, positive: Party, negative: Party, seed: int) -> int:
    """The reward (eq. 7): 1 if the positive was chosen, else 0. Candidates come in seeded random order, so that no
    reasoner can answer by position. Raises ReasonerFailed."""
    positive_first = bool(mixed(np.uint64(work.sequence), np.uint64(seed)) & np.uint64(1))
    scores = None
    if work.score_positive is not None and work.score_negative is not None:
        scores = (work.score_positive, work.score_negative) if positive_first else (work.score_negative, work.score_positive)
    first, second = (positive, negative) if positive_first else (negative, positive)
    answer = await reasoner.predict(work, user, first, second, scores)
    return int(answer.chose_first == positive_first)
