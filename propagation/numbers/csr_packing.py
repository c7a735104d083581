"""Arrays of a state without their empty places, for checkpoints, and back."""

import numpy as np
from numba import njit

from propagation.numbers.rules.seen_items import add_key


@njit(cache=True, nogil=True)
def packed_neighbours(neighbour, together, counts):
    """Return the used places of every item, one item after another (values of a CSR matrix).

    Args:
        counts: [I] places that item i uses.
    """
    size = np.sum(counts.astype(np.int64))
    items = np.empty(size, np.int32)
    weights = np.empty(size, np.float32)
    start = 0
    for row in range(len(counts)):
        end = start + counts[row]
        items[start:end] = neighbour[row, : counts[row]]
        weights[start:end] = together[row, : counts[row]]
        start = end
    return items, weights


@njit(cache=True, nogil=True)
def unpack_neighbours(items, weights, counts, neighbour, together):
    """Fill neighbour and together [I,384] from the result of `packed_neighbours`."""
    start = 0
    for row in range(len(counts)):
        end = start + counts[row]
        neighbour[row, : counts[row]] = items[start:end]
        together[row, : counts[row]] = weights[start:end]
        start = end


@njit(cache=True, nogil=True)
def refill_seen(seen_set, seen_last, seen_item, seen_before):
    """Fill an empty hash set from the users' linked lists."""
    for user in range(len(seen_last)):
        place = seen_last[user]
        while place >= 0:
            add_key(seen_set, np.int64(user) << 32 | np.int64(seen_item[place]))
            place = seen_before[place]
