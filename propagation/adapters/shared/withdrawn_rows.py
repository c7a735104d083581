"""Rows of learned blocks whose interaction is withdrawn: before and after."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from propagation.model.interactions.learned_block import NEGATIVES, WRITTEN, LearnedBlock
from propagation.model.interactions.withdrawal import LearnedWeights

BANKS = 2
Row = dict[str, NDArray[Any]]
NOTHING: Row = {
    "negatives": np.full(NEGATIVES, -1, np.int32),
    "scores": np.full(2, np.nan, np.float32),
    "profile_cosines": np.zeros(NEGATIVES + 1, np.float32),
    "routers": np.zeros((BANKS, WRITTEN), np.uint16),
    "weights": np.zeros((BANKS, WRITTEN), np.float32),
}


def places_of(sequence: NDArray[np.int64], wanted: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the places of wanted sequences in a block's ascending sequences."""
    places = np.searchsorted(sequence, wanted)
    known = places < len(sequence)
    known[known] = sequence[places[known]] == wanted[known]
    return places[known]


def written_in(block: LearnedBlock, places: NDArray[np.int64], learned: int) -> LearnedWeights:
    """Return what the rows at these places of a block wrote.

    Args:
        learned: How many interactions were learned from the block's first one on.
    """
    return LearnedWeights(
        block.sequence[places],
        learned - places,
        block.negatives[places, 0].astype(np.int64),
        block.routers[places],
        block.weights[places],
    )


def joined(parts: Sequence[LearnedWeights]) -> LearnedWeights:
    """Join parts that are in the order of sequences."""
    if not parts:
        nothing = np.empty(0, np.int64)
        return LearnedWeights(
            nothing,
            nothing,
            nothing,
            np.empty((0, BANKS, WRITTEN), np.uint16),
            np.empty((0, BANKS, WRITTEN), np.float32),
        )
    return LearnedWeights(
        *(
            np.concatenate([getattr(part, name) for part in parts])
            for name in ("sequence", "since", "negative", "routers", "weights")
        )
    )
