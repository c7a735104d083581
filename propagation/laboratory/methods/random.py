"""Random: the level of a method that knows nothing."""

import numpy as np

from propagation.arrays import F64
from propagation.laboratory.history import History, Questions
from propagation.laboratory.methods.method import NOTHING_ELSE


class Random:
    """Scores all candidates alike, so that every order is as likely."""

    name = "random"
    depends_on = NOTHING_ELSE

    async def score(self, history: History, questions: Questions, seed: int) -> F64:
        return np.zeros(questions.candidates.shape)
