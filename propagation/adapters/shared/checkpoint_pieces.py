"""Arrays of checkpoints in pieces, as every graph store keeps them."""

from collections.abc import Iterable, Iterator, Sequence
from zlib import crc32

import numpy as np

from propagation.adapters.shared.digests import DIGEST_BYTES, compute_digest
from propagation.model import Array, Checkpoint, name_damage

PIECE_BYTES = 1 << 20


def take_pieces(checkpoint: Checkpoint) -> Iterator[tuple[str, int, str, list[int], bytes]]:
    """Take a checkpoint's arrays out one by one, and yield their pieces.

    The checkpoint has no arrays afterwards.

    Yields:
        The array's name, the piece's number, the array's type and shape, and the piece's bytes.
    """
    for name in list(checkpoint.arrays):
        array = checkpoint.arrays.pop(name)
        for part, data in _split_into_pieces(array):
            yield name, part, array.dtype.str, list(array.shape), data


def _split_into_pieces(array: Array) -> Iterator[tuple[int, bytes]]:
    """Yield an array's numbered pieces; the last piece is the digest.

    The digest is computed from the yielded bytes, because a withdrawal changes the array meanwhile.
    The withdrawal stages a patch of the array afterwards.
    """
    data = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    starts = range(0, max(len(data), 1), PIECE_BYTES)
    check = crc32(repr((array.dtype.str, list(array.shape))).encode())
    for part, start in enumerate(starts):
        piece = data[start : start + PIECE_BYTES].tobytes()
        check = crc32(piece, check)
        yield part, piece
    yield len(starts), check.to_bytes(DIGEST_BYTES)


def join_pieces(name: str, dtype: str, shape: Sequence[int], pieces: Iterable[bytes]) -> Array:
    """Put an array together from its pieces.

    The last piece is the digest.

    Raises:
        DamagedNumbers: Pieces are missing or damaged.
    """
    data = bytearray()  # a list of the pieces would be a second copy of the array
    for piece in pieces:
        data += piece
    with name_damage(f"{name} in a checkpoint of the numbers"):
        whole = memoryview(data)
        values = whole[:-DIGEST_BYTES]
        if whole[-DIGEST_BYTES:] != compute_digest(values, dtype, list(shape)):
            raise ValueError("its digest does not match")
        return np.frombuffer(values, dtype).reshape(shape)
