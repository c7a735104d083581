"""The learn pass of `rebuild`: mass from stored weights, everything else computed again."""

import numpy as np
from numba import njit

from propagation.numbers.learn import apply_one, increments_of, learn_arms
from propagation.numbers.rules.features import FEATURES, fill_features


@njit(cache=True, nogil=True)
def relearn_block(
    state, combiner, users, items, days, event_weights, negatives, cosines, routers, weights
):
    """Learn B interactions again from what was stored of them.

    Args:
        negatives: [B,4].
        cosines: [B,5] of the profiles.
        routers: [B,2,16]; likewise weights.
    """
    candidates = np.empty(1 + negatives.shape[1], np.int64)
    raw = np.empty((len(candidates), FEATURES))
    values = np.empty_like(raw)
    bins = np.empty(len(candidates), np.int64)
    trust = np.empty((2, max(state.session.mass.shape[1], state.taste.mass.shape[1])), np.float32)
    for row in range(len(users)):
        user, item = users[row], items[row]
        used = 1 + np.sum(negatives[row] >= 0)
        candidates[0] = item
        candidates[1:used] = negatives[row, : used - 1]
        fill_features(state, user, candidates[:used], raw[:used])
        raw[:used, 9] = cosines[row, :used]
        learn_arms(state, combiner, user, candidates[:used], raw[:used], values[:used], bins[:used])
        state.today[0] = days[row]
        increments_of(state, item, event_weights[row], trust)
        apply_one(state, user, item, trust, routers[row], weights[row])
