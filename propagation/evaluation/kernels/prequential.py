"""One pass over a stream: score every candidate, then learn.

Both follow the service's own rules.
"""

import numpy as np
from numba import njit

from propagation.evaluation.kernels.arms import DRAWN, DRAWN_MANY, expected
from propagation.evaluation.kernels.controls import fill_controls, follow_controls
from propagation.numbers import draw_negatives, learn_arms, learn_numbers
from propagation.numbers.rules import (
    LEAST_DEVIATION,
    adopter_bin,
    fill_from,
    gather_neighbours,
    has_history,
    has_seen,
    maturity,
    release_neighbours,
    seen_items,
    standpoint_of,
    weight_of,
)

BINS = 4


@njit(cache=True)
def _fill(state, controls, user, items, near, out):
    found = gather_neighbours(state, user) if has_history(state, user) else np.empty(0, np.int64)
    standpoint = standpoint_of(state, user)
    fill_from(state, standpoint, items, out)
    fill_controls(state, controls, standpoint, user, items, near, out)
    release_neighbours(state, found)


@njit(cache=True)
def _folded(combiner, arm, user_bin):
    """Fold an arm's standardisation into weights and offsets by item bin.

    A score is offset + weights . raw.

    Returns:
        Weights [4,F] and offset [4].
    """
    features = combiner.mask.shape[1]
    weights = np.zeros((BINS, features))
    offset = np.zeros(BINS)
    for feature in range(features):
        if combiner.mask[arm, feature] == 0:
            continue
        deviation = 1.0
        if combiner.seen[0] > 1:
            deviation = max(
                np.sqrt(combiner.moments[feature, 1] / combiner.seen[0]), LEAST_DEVIATION
            )
        for item_bin in range(BINS):
            weight = weight_of(combiner, arm, feature, user_bin, item_bin) / deviation
            weights[item_bin, feature] = weight
            offset[item_bin] -= weight * combiner.moments[feature, 0]
    return weights, offset


@njit(cache=True)
def _score_all(combiner, arm, user_bin, raw, bins, out):
    weights, offset = _folded(combiner, arm, user_bin)
    for item in range(len(out)):
        total = offset[bins[item]]
        for feature in range(raw.shape[1]):
            total += weights[bins[item], feature] * raw[item, feature]
        out[item] = total


@njit(cache=True)
def _expectations(scores, target, barred, other_kind, logs, out):
    """Fill out [5] of one ranking.

    In order: N@10 and HR@1 against 9 of all candidates, N@10 and HR@1 against 9 of the target's
    kind (adopted before, or not), N@10 against 99 of all.
    """
    above, ties, others = 0, 0, 0
    above_kin, ties_kin, kin = 0, 0, 0
    for item in range(len(scores)):
        if barred[item]:
            continue
        higher, equal = scores[item] > scores[target], scores[item] == scores[target]
        above += higher
        ties += equal
        others += 1
        if not other_kind[item]:
            above_kin += higher
            ties_kin += equal
            kin += 1
    out[0], out[1] = expected(above, ties, others, DRAWN, logs) if others else (np.nan, np.nan)
    out[2], out[3] = expected(above_kin, ties_kin, kin, DRAWN, logs) if kin else (np.nan, np.nan)
    out[4] = expected(above, ties, others, DRAWN_MANY, logs)[0] if others else np.nan


@njit(cache=True)
def _rank(state, combiner, user, item, raw, bins, scores, barred, other_kind, logs, out):
    """Fill in the figures of one event's rankings.

    Args:
        out: [R,5], filled here; R are the arms and then the two popularity probes.
    """
    user_bin = maturity(state.history_length[user])
    adopted = state.adoptions[item] > 0
    for other in range(len(bins)):
        bins[other] = adopter_bin(state.adoptions[other])
        barred[other] = not state.visible[other]
        other_kind[other] = (state.adoptions[other] > 0) != adopted
    barred[seen_items(state, user)] = True
    barred[item] = True
    arms = combiner.mask.shape[0]
    for arm in range(arms):
        _score_all(combiner, arm, user_bin, raw, bins, scores)
        _expectations(scores, item, barred, other_kind, logs, out[arm])
    for probe in range(2):
        for other in range(len(scores)):
            scores[other] = raw[other, 0] if probe == 0 else -raw[other, 0]
        _expectations(scores, item, barred, other_kind, logs, out[arms + probe])


@njit(cache=True, nogil=True)
def evaluate_block(
    state, combiner, controls, users, items, seeds, scored, learned, item_count, logs, out
):
    """Rank and learn B events in order.

    Args:
        scored: [B] whether to rank the event, before it is learned.
        learned: [B] whether to learn it.
        out: [B,R,5] filled for a scored event whose user has a past and has not had the item.
    """
    everything = np.arange(item_count)
    raw = np.empty((item_count, combiner.mask.shape[1]))
    near = np.empty(len(state.adoptions), np.float32)
    item_bins, scores = np.empty(item_count, np.int64), np.empty(item_count)
    barred, other_kind = np.empty(item_count, np.bool_), np.empty(item_count, np.bool_)
    negatives = np.empty(4, np.int32)
    candidates, bins = np.empty(5, np.int64), np.empty(5, np.int64)
    values = np.empty((5, raw.shape[1]))
    k = max(state.session.mass.shape[1], state.taste.mass.shape[1])
    trust, routers, weights = (
        np.empty((2, k), np.float32),
        np.empty((2, 16), np.uint16),
        np.empty((2, 16), np.float32),
    )
    for row in range(len(users)):
        user, item = users[row], items[row]
        used = 1 + draw_negatives(state, user, item, -1, seeds[row], negatives)
        candidates[0] = item
        candidates[1:used] = negatives[: used - 1]
        ranked = scored[row] and has_history(state, user) and not has_seen(state, user, item)
        if ranked:
            _fill(state, controls, user, everything, near, raw)
            _rank(
                state,
                combiner,
                user,
                item,
                raw,
                item_bins,
                scores,
                barred,
                other_kind,
                logs,
                out[row],
            )
        if not learned[row]:
            continue
        if ranked:
            features = raw[candidates[:used]]
        else:
            _fill(state, controls, user, candidates[:used], near, raw)
            features = raw[:used]
        learn_arms(state, combiner, user, candidates[:used], features, values[:used], bins[:used])
        is_new = not has_seen(state, user, item)
        learn_numbers(state, user, item, 1.0, trust, routers, weights)
        follow_controls(state, controls, user, item, is_new)
