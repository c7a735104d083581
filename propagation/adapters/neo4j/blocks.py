"""A learned block as properties of its node, and back. What claims read (negatives and scores) is apart from the weights."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from propagation.adapters.columns import packed, unpacked
from propagation.model.learned import NEGATIVES, LearnedBlock

DRAWN_BYTES = 8 + 4 * NEGATIVES + 2 * 4
"""Of each interaction in the first part of `packed`: its sequence, its negatives, its two scores."""


def properties_of(block: LearnedBlock) -> dict[str, object]:
    """Of cypher/learn/stage, and of cypher/learn/put without its trust."""
    columns = packed(block)
    split = DRAWN_BYTES * len(block.sequence)
    return {"after": block.after, "through": block.through, "epoch": block.epoch, "size": len(block.sequence),
            "drawn": columns[:split], "wrote": columns[split:]}


def block_of(after: int, through: int, epoch: int, size: int, drawn: bytes, wrote: bytes, trust: bytes | None = None,
             combiner: bytes | None = None) -> LearnedBlock:
    return unpacked(after, through, epoch, size, bytes(drawn) + bytes(wrote), trust, combiner)


def drawn_of(size: int, drawn: bytes) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float32]]:
    """(sequence [B], first negative's row [B], scores [B,2])."""
    data: Any = bytes(drawn)
    sequence = np.frombuffer(data, np.int64, size)
    negatives = np.frombuffer(data, np.int32, size * NEGATIVES, 8 * size).reshape(size, NEGATIVES)
    scores = np.frombuffer(data, np.float32, size * 2, (8 + 4 * NEGATIVES) * size).reshape(size, 2)
    return sequence, negatives[:, 0], scores
