"""Pop: the items that most users chose."""

import numpy as np

from propagation.arrays import F64
from propagation.laboratory.history import History, Questions


class Popularity:
    """Scores an item by how many users chose it."""

    name = "pop"
    version = ""

    async def score(self, history: History, questions: Questions, seed: int) -> F64:
        pairs = np.unique(history.user * history.items + history.item)
        adopters = np.bincount(pairs % history.items, minlength=history.items)
        return adopters[questions.candidates].astype(np.float64)
