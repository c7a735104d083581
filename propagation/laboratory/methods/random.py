"""Random: the level of a method that knows nothing."""

import numpy as np

from propagation.arrays import F64
from propagation.laboratory.history import History, Questions


class Random:
    """Draws a score for each candidate."""

    name = "random"

    async def score(self, history: History, questions: Questions, seed: int) -> F64:
        return np.random.default_rng(seed).random(questions.candidates.shape)
