"""Compile (or load from the cache) every kernel before the first request does."""

from functools import cache

import numpy as np

from propagation.model.log import Interactions
from propagation.workflow.reading import Ask, Reader
from propagation.workflow.view import NumbersView, seeded_directions

SIZE = 4
DIMENSION = 2


@cache
def warm_up() -> None:
    """Learn and read a few events on a throwaway view; once a process. Seconds on a machine's first run, else a moment."""
    directions = seeded_directions(SIZE, DIMENSION, seed=0)
    view = NumbersView(directions, directions, seed=0, epoch=0)
    view.add_users(SIZE)
    for row, vector in enumerate(directions):
        view.set_item(row, vector, vector, visible=True)
    rows = np.arange(SIZE)
    view.learn(Interactions(sequence=rows + 1, user=rows, item=rows, negative=rows * 0 - 1, weight=np.ones(SIZE),
                            seed=rows.astype(np.uint64)), SIZE)
    reader = Reader()
    reader.read(view, [Ask(user=0, arm=0, limit=1, explain=True), Ask(user=0, arm=0, limit=1, candidates=rows)])
