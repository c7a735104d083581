"""Scores items by the arms of an evaluation."""

import numpy as np

from propagation.evaluation.kernels.controls import fill_controls, find_control_routers
from propagation.numbers.kernels import kernel
from propagation.numbers.rules import (
    compute_maturity,
    compute_standpoint,
    fill_from,
    find_adopter_bin,
    find_deviation,
    gather_neighbours,
    get_weight,
    release_neighbours,
)


@kernel
def score_items(state, combiner, controls, user, now, items, near, out):
    """Score items for a user with history, by the learned weights.

    They are the scores by which `evaluate_block` ranks.

    Args:
        now: Seconds since 1970.
        items: [n] rows.
        near: [I] f32, room for what the nearest users have.
        out: [R,n], filled with each arm's scores.
    """
    arms, features = combiner.mask.shape
    raw = np.empty((len(items), features))
    found = gather_neighbours(state, user, now)
    standpoint = compute_standpoint(state, user, now)
    routers = find_control_routers(state, controls, standpoint, user, near)
    fill_from(state, standpoint, items, raw)
    fill_controls(state, controls, routers, near, items, raw)
    release_neighbours(state.near_slow, state.near_fast, found)
    maturity = compute_maturity(state.history_length[user])
    out[:] = 0.0
    for feature in range(features):
        deviation = 1.0
        if combiner.seen[0] > 1:
            deviation = find_deviation(combiner, feature)
        mean = combiner.moments[feature, 0]
        for arm in range(arms):
            if combiner.mask[arm, feature] == 0:
                continue
            for row in range(len(items)):
                item_bin = find_adopter_bin(state.adoptions[items[row]])
                weight = get_weight(combiner, arm, feature, maturity, item_bin)
                out[arm, row] += weight / deviation * (raw[row, feature] - mean)
