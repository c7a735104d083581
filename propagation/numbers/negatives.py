"""Negatives: items that a user did not choose, drawn for predictions.

Source: RecNet 2.4; docs/numbers.md.
"""

import numpy as np

from propagation.numbers.kernels import inner_kernel, kernel
from propagation.numbers.rules import has_seen
from propagation.numbers.seeded_hash import mix_seed

DRAWS_A_PLACE = 64
RECORDED = -2


@inner_kernel
def _is_drawable(visible, seen_set, user, item, candidate, drawn, count):
    if candidate == item or not visible[candidate] or has_seen(seen_set, user, candidate):
        return False
    return candidate not in drawn[:count]


@kernel
def draw_negatives(visible, seen_set, items, user, item, caller_negative, seed, out):
    """Draw distinct visible items that the user has not had.

    At most len(out) items are drawn.

    A caller's negative takes the first place; -1 fills places without an item. The seed is the
    event's alone.
    """
    out[:] = -1
    count = 0
    if caller_negative >= 0:
        out[0] = caller_negative
        count = 1
    draw = np.uint64(0)
    while count < len(out):
        found = False
        for _ in range(DRAWS_A_PLACE):
            draw += np.uint64(1)
            candidate = np.int64(mix_seed(draw, seed) % np.uint64(items))
            if _is_drawable(visible, seen_set, user, item, candidate, out, count):
                out[count] = candidate
                count += 1
                found = True
                break
        if not found:
            left = np.empty(items, np.int64)
            size = 0
            for candidate in range(items):
                if _is_drawable(visible, seen_set, user, item, candidate, out, count):
                    left[size] = candidate
                    size += 1
            if size == 0:
                return count
            out[count] = left[np.int64(mix_seed(draw, seed) % np.uint64(size))]
            count += 1
    return count


@kernel
def count_recorded_negatives(negatives):
    """Count the negatives that an earlier learner recorded.

    These are the places before the first -1.
    """
    count = 0
    while count < len(negatives) and negatives[count] >= 0:
        count += 1
    return count
