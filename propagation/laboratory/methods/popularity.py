"""Pop: the items that most users chose."""

import numpy as np

from propagation.arrays import F64, I64
from propagation.laboratory.history import History, Questions


class Popularity:
    """Scores an item by how many users chose it."""

    name = "pop"
    version = ""

    async def score(self, history: History, questions: Questions, seed: int) -> F64:
        return count_adopters(history)[questions.candidates].astype(np.float64)


def count_adopters(history: History) -> I64:
    """Count the users who took each item, [items]."""
    pairs = np.unique(history.user * history.items + history.item)
    return np.bincount(pairs % history.items, minlength=history.items)
