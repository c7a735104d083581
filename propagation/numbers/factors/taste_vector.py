"""The taste vector: one vector a user, learned pair by pair (BPR).

Source: docs/numbers.md, "Learned factors"; Rendle et al., "BPR: Bayesian Personalized Ranking from
Implicit Feedback", UAI 2009, section 4.
"""

import numpy as np

from propagation.numbers.kernels import inner_kernel, kernel
from propagation.numbers.products import SUMS_IN_ANY_ORDER

RATE, DECAY = np.float32(0.05), np.float32(0.0005)
ONE = np.float32(1.0)


@inner_kernel(fastmath=SUMS_IN_ANY_ORDER)
def _compare(own, up, down):
    """Return own . (up - down)."""
    total = np.float32(0)
    for column in range(len(own)):
        total += own[column] * (up[column] - down[column])
    return total


@inner_kernel
def _step(own, up, down, slope):
    """Step three vectors.

    It is a function of its own: where the compiler sees rows of one table, it expects them to
    overlap, and its code is three times slower.
    """
    for column in range(len(own)):
        before, chosen, other = own[column], up[column], down[column]
        own[column] = before + (slope * (chosen - other) - DECAY * before)
        up[column] = chosen + (slope * before - DECAY * chosen)
        down[column] = other - (slope * before + DECAY * other)


@kernel
def step_pair(factors, user, chosen, other):
    """Make one step on a choice against an item not chosen.

    Args:
        user, chosen, other: Rows; the user has not had `other`.
    """
    own, up, down = factors.taste[user], factors.liked[chosen], factors.liked[other]
    bias = factors.liked_bias
    margin = _compare(own, up, down) + bias[chosen] - bias[other]
    if not np.isfinite(margin):
        factors.skipped[0] += 1
        return
    slope = RATE / (ONE + np.exp(margin))
    _step(own, up, down, slope)
    bias[chosen] += slope - DECAY * bias[chosen]
    bias[other] -= slope + DECAY * bias[other]
