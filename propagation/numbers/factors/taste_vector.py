"""The taste vector: one vector a user, learned pair by pair (BPR).

Source: docs/numbers.md, "Learned factors"; Rendle et al., "BPR: Bayesian Personalized Ranking from
Implicit Feedback", UAI 2009, section 4.
"""

import numpy as np
from numba import njit

from propagation.numbers.products import multiply

RATE, DECAY = np.float32(0.05), np.float32(0.0005)
ONE = np.float32(1.0)


@njit(cache=True)
def step_pair(factors, user, chosen, other):
    """Make one step on a choice against an item not chosen.

    Args:
        user, chosen, other: Rows; the user has not had `other`.
    """
    taste, liked, bias = factors.taste, factors.liked, factors.liked_bias
    margin = (
        multiply(taste[user], liked[chosen])
        + bias[chosen]
        - multiply(taste[user], liked[other])
        - bias[other]
    )
    slope = RATE / (ONE + np.exp(margin))
    if not np.isfinite(margin):
        factors.skipped[0] += 1
        return
    for column in range(taste.shape[1]):
        own, up, down = taste[user, column], liked[chosen, column], liked[other, column]
        taste[user, column] += slope * (up - down) - DECAY * own
        liked[chosen, column] += slope * own - DECAY * up
        liked[other, column] -= slope * own + DECAY * down
    bias[chosen] += slope - DECAY * bias[chosen]
    bias[other] -= slope + DECAY * bias[other]
