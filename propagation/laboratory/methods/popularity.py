"""Pop: the items that most users chose."""

import numpy as np

from propagation.arrays import F64, I64, Bools
from propagation.laboratory.history import History, Questions
from propagation.laboratory.methods.method import NOTHING_ELSE, LiveScores


class Popularity:
    """Scores an item by how many users chose it."""

    name = "pop"
    depends_on = NOTHING_ELSE

    async def score(self, history: History, questions: Questions, seed: int) -> F64:
        return count_adopters(history)[questions.candidates].astype(np.float64)

    async def follow(
        self, history: History, questions: Questions, known: I64, seed: int
    ) -> LiveScores:
        is_new = find_first_choices(history)
        adopters = np.zeros(history.items)
        for candidates, part in zip(questions.candidates, history.walk(known), strict=True):
            np.add.at(adopters, history.item[part], is_new[part])
            yield adopters[candidates]


def count_adopters(history: History) -> I64:
    """Count the users who took each item, [items]."""
    return np.bincount(history.item[find_first_choices(history)], minlength=history.items)


def find_first_choices(history: History) -> Bools:
    """Find the interactions that repeat no item of their user, [E]."""
    _, first = np.unique(history.user * history.items + history.item, return_index=True)
    found = np.zeros(len(history.user), np.bool_)
    found[first] = True
    return found
