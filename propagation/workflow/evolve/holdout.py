"""The holdout: the newest learned interactions of this epoch, on which a plan is judged (DESIGN,
step 8)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from propagation.model.interactions.learned_block import WRITTEN
from propagation.ports.graph.graph_store import GraphStore
from propagation.workflow.learn.learned_weights import TASTE, Aligned, aligned_blocks

I64 = NDArray[np.int64]
SLACK = 4_096


@dataclass(frozen=True)
class Holdout:
    """H interactions in order, up to sequence `through`; `judged_from` is T, the sequence before
    the first of them.

    users, items, negatives (-1: none) [H] rows · weights [H] · routers [H,16], written [H,16] as
    rule 5 wrote to the taste bank · scores [H,2] as learn stored them."""

    through: int
    judged_from: int
    users: I64
    items: I64
    negatives: I64
    weights: NDArray[np.float64]
    routers: I64
    written: NDArray[np.float64]
    scores: NDArray[np.float32]

    def __len__(self) -> int:
        return len(self.users)


async def load_holdout(store: GraphStore, through: int, epoch: int, holdout: int) -> Holdout:
    """At most `holdout` interactions that were learned in `epoch`."""
    back = holdout + SLACK
    while True:
        after = max(through - back, 0)
        parts = [part async for part in aligned_blocks(store, after, through)]
        mine = [part for part in parts if part.block.epoch == epoch]
        if len(mine) < len(parts) or after == 0 or sum(len(part.rows) for part in mine) >= holdout:
            return _cut(mine, through, holdout)
        back *= 2


def _cut(parts: list[Aligned], through: int, holdout: int) -> Holdout:
    sequence = _column([part.block.sequence[part.rows] for part in parts], np.int64, 0)[-holdout:]
    return Holdout(
        through=through,
        judged_from=int(sequence[0]) - 1 if len(sequence) else through,
        users=_column([part.users for part in parts], np.int64, 0)[-holdout:],
        items=_column([part.items for part in parts], np.int64, 0)[-holdout:],
        negatives=_column([part.block.negatives[part.rows, 0] for part in parts], np.int64, 0)[
            -holdout:
        ],
        weights=_column([part.weights for part in parts], np.float64, 0)[-holdout:],
        routers=_column(
            [part.block.routers[part.rows, TASTE] for part in parts], np.int64, WRITTEN
        )[-holdout:],
        written=_column(
            [part.block.weights[part.rows, TASTE] for part in parts], np.float64, WRITTEN
        )[-holdout:],
        scores=_column([part.block.scores[part.rows] for part in parts], np.float32, 2)[-holdout:],
    )


def _column(parts: Sequence[NDArray[Any]], kind: type, width: int) -> NDArray[Any]:
    """One after another, as `kind`; `width` 0: a column of single values."""
    return np.concatenate(
        [np.zeros((0, width) if width else 0, kind), *(part.astype(kind) for part in parts)]
    )
