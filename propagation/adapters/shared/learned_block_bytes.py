"""The permanent columns of a learned block as one blob, equal in every graph store."""

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from propagation.model.interactions.learned_block import NEGATIVES, WRITTEN, LearnedBlock

TASTE = 1
FORM = (
    ("sequence", np.int64, ()),
    ("negatives", np.int32, (NEGATIVES,)),
    ("scores", np.float32, (2,)),
    ("profile_cosines", np.float32, (NEGATIVES + 1,)),
    ("routers", np.uint16, (2, WRITTEN)),
    ("weights", np.float32, (2, WRITTEN)),
)


def packed(block: LearnedBlock) -> bytes:
    """Return the columns as bytes."""
    return b"".join(
        np.ascontiguousarray(getattr(block, name), dtype).tobytes() for name, dtype, _ in FORM
    )


def unpacked(
    after: int,
    through: int,
    epoch: int,
    size: int,
    columns: bytes,
    trust: bytes | None = None,
    combiner: bytes | None = None,
) -> LearnedBlock:
    """Return the block of packed columns.

    Its arrays are writable: numba would compile every kernel again for read-only ones.
    """
    parts: dict[str, NDArray[Any]] = {}
    start = 0
    own = bytearray(columns)
    for name, dtype, shape in FORM:
        count = size * int(np.prod(shape, dtype=np.int64))
        parts[name] = np.frombuffer(own, dtype, count, start).reshape(size, *shape)
        start += parts[name].nbytes
    increments = np.frombuffer(bytearray(trust or b""), np.float32)
    return LearnedBlock(
        after=after,
        through=through,
        epoch=epoch,
        **parts,
        trust=increments.reshape(size, 2, -1)
        if len(increments)
        else np.zeros((size, 2, 0), np.float32),
        combiner=np.frombuffer(bytearray(combiner or b""), np.float64),
    )


def row_parts(
    size: int, place: int, values: Mapping[str, NDArray[Any]]
) -> Iterator[tuple[int, bytes]]:
    """Return the offsets of one row's values in packed columns, with their bytes."""
    start = 0
    for name, dtype, shape in FORM:
        width = np.dtype(dtype).itemsize * int(np.prod(shape, dtype=np.int64))
        if name in values:
            yield start + place * width, np.ascontiguousarray(values[name], dtype).tobytes()
        start += size * width


def row_of(
    size: int, place: int, names: Collection[str], read: Callable[[int, int], bytes]
) -> dict[str, NDArray[Any]]:
    """Read these columns of one row from the packed columns of `size` rows.

    Args:
        read: Returns so many bytes from an offset.
    """
    found, start = {}, 0
    for name, dtype, shape in FORM:
        width = np.dtype(dtype).itemsize * int(np.prod(shape, dtype=np.int64))
        if name in names:
            found[name] = np.frombuffer(read(start + place * width, width), dtype).reshape(shape)
        start += size * width
    return found


def taste_written_by(block: LearnedBlock, sequence: int) -> list[tuple[int, float]]:
    """Return what one interaction wrote to the taste bank, largest first, then by router."""
    place = int(np.searchsorted(block.sequence, sequence))
    if place == len(block.sequence) or block.sequence[place] != sequence:
        return []
    pairs = zip(
        block.routers[place, TASTE].tolist(), block.weights[place, TASTE].tolist(), strict=True
    )
    return sorted(
        ((router, weight) for router, weight in pairs if weight > 0),
        key=lambda pair: (-pair[1], pair[0]),
    )
