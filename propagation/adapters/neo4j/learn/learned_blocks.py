"""Converts a learned block to properties of its node, and back.

Negatives and scores, which claims read, are separate from the weights.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from propagation.adapters.shared.learned_blocks import (
    BANKS,
    NOTHING,
    packed,
    row_parts,
    unpacked,
)
from propagation.graph_rules.claims import DrawColumns
from propagation.model import NEGATIVES, WRITTEN, LearnedBlock

DRAWN_BYTES = 8 + 4 * NEGATIVES + 2 * 4
"""Bytes of each interaction in `drawn`: its sequence, its negatives, its two scores."""


def properties_of(block: LearnedBlock) -> dict[str, object]:
    """Convert a block for cypher/learn/blocks/stage_blocks, and create_block without its trust."""
    drawn, wrote = split_columns(len(block.sequence), packed(block))
    return {
        "after": block.after,
        "through": block.through,
        "epoch": block.epoch,
        "size": len(block.sequence),
        "drawn": drawn,
        "wrote": wrote,
    }


def block_of(
    after: int,
    through: int,
    epoch: int,
    size: int,
    drawn: bytes,
    wrote: bytes,
    emptied: Sequence[int] | None = None,
    promoted: Sequence[int] | None = None,
    routers: Sequence[int] | None = None,
    weights: Sequence[float] | None = None,
    trust: bytes | None = None,
    combiner: bytes | None = None,
) -> LearnedBlock:
    """Convert a row to a block, with its marked rows applied; see `marked_columns`."""
    columns = marked_columns(size, drawn, wrote, emptied, promoted, routers, weights)
    return unpacked(after, through, epoch, size, columns, trust, combiner)


def marked_columns(
    size: int,
    drawn: bytes,
    wrote: bytes,
    emptied: Sequence[int] | None,
    promoted: Sequence[int] | None,
    routers: Sequence[int] | None,
    weights: Sequence[float] | None,
) -> bytes:
    """Apply marked rows to the packed columns.

    A withdrawal marks rows in its commit, and they are written into the block after it, because a
    client's rows may lie in every block.

    Args:
        emptied: Places of rows to clear.
        promoted: Places of rows that get the numbers in `routers` and `weights`.
    """
    columns = bytearray(drawn) + bytearray(wrote)
    shape = (-1, BANKS, WRITTEN)
    moved = zip(
        promoted or (),
        np.array(routers or (), np.uint16).reshape(shape),
        np.array(weights or (), np.float32).reshape(shape),
        strict=True,
    )
    for place, of_routers, of_weights in moved:
        _write(columns, size, place, {"routers": of_routers, "weights": of_weights})
    for place in emptied or ():
        _write(columns, size, place, NOTHING)
    return bytes(columns)


def split_columns(size: int, columns: bytes) -> tuple[bytes, bytes]:
    """Split packed columns into `drawn` and `wrote`."""
    return columns[: DRAWN_BYTES * size], columns[DRAWN_BYTES * size :]


def _write(columns: bytearray, size: int, place: int, values: Mapping[str, NDArray[Any]]) -> None:
    for start, data in row_parts(size, place, values):
        columns[start : start + len(data)] = data


def draw_columns(through: int, size: int, drawn: bytes) -> DrawColumns:
    """Unpack a row of cypher/learn/blocks/draws_at."""
    data: Any = bytes(drawn)
    sequence = np.frombuffer(data, np.int64, size)
    negatives = np.frombuffer(data, np.int32, size * NEGATIVES, 8 * size).reshape(size, NEGATIVES)
    scores = np.frombuffer(data, np.float32, size * 2, (8 + 4 * NEGATIVES) * size).reshape(size, 2)
    return DrawColumns(through, sequence, negatives[:, 0], scores)
