"""One pass over a stream: score every candidate, then learn.

Both follow the service's own rules. The catalogue is scored in parts that fit the processor's
cache: several features read the same rows.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from propagation.evaluation.kernels.arms import DRAWN, DRAWN_MANY, PROBES, compute_expected
from propagation.evaluation.kernels.controls import (
    Routers,
    fill_controls,
    find_control_routers,
    follow_controls,
)
from propagation.numbers import (
    ITEMS,
    apply_one,
    choose_routers,
    compute_increments,
    draw_negatives,
    learn_arms,
)
from propagation.numbers.kernels import inner_kernel, kernel
from propagation.numbers.rules import (
    START_WEIGHT,
    Feature,
    Standpoint,
    compute_maturity,
    compute_standpoint,
    fill_from,
    find_adopter_bin,
    find_deviation,
    gather_neighbours,
    get_weight,
    has_seen,
    list_seen_items,
    release_neighbours,
)

BINS = 4
PART = 1024
PROBED = len(PROBES)
POPULARITY, RECENT = Feature.POPULARITY.value, Feature.RECENT.value
FIXED = 9


class FeatureArrays(NamedTuple):
    """Arrays that a user's features are read from.

    Args:
        routers: Of the controls, see `find_control_routers`.
        near: [I] f32: what the nearest users have.
    """

    standpoint: Standpoint
    routers: tuple[Routers, Routers, Routers]
    near: NDArray[np.float32]


class Scoring(NamedTuple):
    """Weights with which each of R rankings scores a row of features.

    The score is offset + weights . features.

    Args:
        weights: [R,4,F] by the item's bin of adopters; likewise offsets [R,4].
        columns: [R,F] the features that a ranking sees, in its first `seen` [R] places.
    """

    weights: NDArray[np.float64]
    offsets: NDArray[np.float64]
    columns: NDArray[np.int64]
    seen: NDArray[np.int64]


@kernel
def _fill(state, controls, arrays, items, out):
    fill_from(state, arrays.standpoint, items, out)
    fill_controls(state, controls, arrays.routers, arrays.near, items, out)


@inner_kernel
def _find_lacking(combiner, arm, feature):
    """Return what a weight lacks where a user has no history.

    `adjust_for_newcomers` adds it.
    """
    if feature != POPULARITY and feature != RECENT:
        return 0.0
    lowest = get_weight(combiner, arm, feature, 0, 0)
    for item_bin in range(1, BINS):
        lowest = min(lowest, get_weight(combiner, arm, feature, 0, item_bin))
    return max((START_WEIGHT if feature == POPULARITY else 0.0) - lowest, 0.0)


@kernel
def _choose_scoring(combiner, user_bin):
    """Return how arms and probes score for a user.

    The standardisation is folded in.
    """
    arms, features = combiner.mask.shape
    rankings = arms + PROBED
    weights, offsets = np.zeros((rankings, BINS, features)), np.zeros((rankings, BINS))
    columns, seen = np.zeros((rankings, features), np.int64), np.zeros(rankings, np.int64)
    for feature in range(features):
        deviation = 1.0
        if combiner.seen[0] > 1:
            deviation = find_deviation(combiner, feature)
        for arm in range(arms):
            if combiner.mask[arm, feature] == 0:
                continue
            columns[arm, seen[arm]] = feature
            seen[arm] += 1
            lacking = _find_lacking(combiner, arm, feature) if user_bin == 0 else 0.0
            for item_bin in range(BINS):
                weight = get_weight(combiner, arm, feature, user_bin, item_bin) + lacking
                weights[arm, item_bin, feature] = weight / deviation
                offsets[arm, item_bin] -= weight / deviation * combiner.moments[feature, 0]
    weights[arms, :, POPULARITY], weights[arms + 1, :, POPULARITY] = 1.0, -1.0
    seen[arms:] = 1
    return Scoring(weights, offsets, columns, seen)


@inner_kernel
def _score(scoring, ranking, adopted, raw, out):
    """Score items by one of the rankings, into `out` [n].

    Args:
        ranking: Its row in `scoring`.
        adopted: [n] adoptions of the items.
        raw: [n,F] their features.
    """
    weights, offsets = scoring.weights[ranking], scoring.offsets[ranking]
    columns = scoring.columns[ranking, : scoring.seen[ranking]]
    for row in range(len(adopted)):
        item_bin = find_adopter_bin(adopted[row])
        total = offsets[item_bin]
        for column in columns:
            total += weights[item_bin, column] * raw[row, column]
        out[row] = total


@inner_kernel
def _find_barred_items(visible, seen, item, taken):
    """Return [I] which items are no negatives.

    These are hidden, seen by the user or taken later, or the target.
    """
    barred = ~visible
    barred[seen] = True
    barred[taken] = True
    barred[item] = True
    return barred


@inner_kernel
def _count(scores, own, is_kin, counts):
    """Count the scores above `own` and equal to it.

    counts [4] has both numbers of all scores, and both of those of the target's kind.
    """
    for row in range(len(scores)):
        above, tied = scores[row] > own, scores[row] == own
        counts[0] += above
        counts[1] += tied
        counts[2] += above and is_kin[row]
        counts[3] += tied and is_kin[row]


@inner_kernel
def _put_figures(counts, others, kin, logs, out):
    """Fill out [5] of one ranking.

    In order: N@10 and HR@1 against 9 of all candidates, N@10 against 9 of the target's kind
    (adopted before, or not), the mean rank among all candidates, N@10 against 99 of all.

    Args:
        counts: Candidates above the target, as high as it, and both of its kind.
        others: All candidates but the target; kin those of its kind.
    """
    if others:
        out[0], out[1] = compute_expected(counts[0], counts[1], others, DRAWN, logs)
        out[3] = 1.0 + counts[0] + counts[1] / 2.0
        out[4] = compute_expected(counts[0], counts[1], others, DRAWN_MANY, logs)[0]
    if kin:
        out[2] = compute_expected(counts[2], counts[3], kin, DRAWN, logs)[0]


@kernel
def _rank(state, controls, arrays, scoring, item, target, barred, logs, out):
    """Rank an item among all that are not barred.

    Args:
        target: [1,F] its features.
        out: [R,5], filled.
    """
    rankings, features = len(scoring.seen), target.shape[1]
    raw, scores, own = np.empty((PART, features)), np.empty(PART), np.empty((rankings, 1))
    for ranking in range(rankings):
        _score(scoring, ranking, state.adoptions[item : item + 1], target, own[ranking])
    counts, kin = np.zeros((rankings, 4), np.int64), 0
    is_adopted = state.adoptions[item] > 0
    candidates = np.flatnonzero(~barred[: state.clock[ITEMS]])
    others = len(candidates)
    for start in range(0, others, PART):
        rows = candidates[start : start + PART]
        adopted = state.adoptions[rows]
        is_kin = (adopted > 0) == is_adopted
        kin += np.sum(is_kin)
        _fill(state, controls, arrays, rows, raw)
        for ranking in range(rankings):
            _score(scoring, ranking, adopted, raw, scores)
            _count(scores[: len(rows)], own[ranking, 0], is_kin, counts[ranking])
    for ranking in range(rankings):
        _put_figures(counts[ranking], others, kin, logs, out[ranking])


@inner_kernel
def _rank_fixed(state, controls, arrays, scoring, item, target, fixed, logs, out):
    """Rank an item against a user's fixed candidates.

    Args:
        target: [1,F] its features.
        fixed: [C] items; -1 is none.
        out: [R,2], filled with N@10 against the first nine that are not the target, and against
            all.
    """
    rows = fixed[(fixed >= 0) & (fixed != item)]
    raw, scores, own = np.empty((len(rows), target.shape[1])), np.empty(len(rows)), np.empty(1)
    _fill(state, controls, arrays, rows, raw)
    for ranking in range(len(scoring.seen)):
        _score(scoring, ranking, state.adoptions[rows], raw, scores)
        _score(scoring, ranking, state.adoptions[item : item + 1], target, own)
        for column in range(2):
            size = min(FIXED, len(rows)) if column == 0 else len(rows)
            above, ties = np.sum(scores[:size] > own[0]), np.sum(scores[:size] == own[0])
            if size:
                out[ranking, column] = compute_expected(above, ties, size, size, logs)[0]


@kernel(nogil=True)
def evaluate_block(
    state, combiner, controls, users, items, times, seeds, scored, learned, takes, fixed, logs, out
):
    """Rank and learn B events in order.

    Args:
        times: [B] u32 seconds since 1970.
        scored: [B] whether to rank the event, before it is learned.
        learned: [B] whether to learn it.
        takes: Items that are never negatives of a user: [U+1] the user's first place in the items,
            and the items.
        fixed: [U,C] each user's fixed candidates; -1 is none.
        out: [B,R,5], with fixed candidates [B,R,7]: filled for a scored event whose user has not
            had the item.
    """
    near = np.zeros(len(state.adoptions), np.float32)
    negatives = np.empty(4, np.int32)
    candidates, bins = np.empty(5, np.int64), np.empty(5, np.int64)
    features = combiner.mask.shape[1]
    raw, values = np.empty((5, features)), np.empty((5, features))
    k = max(state.session.mass.shape[1], state.taste.mass.shape[1])
    trust, routers, weights = (
        np.empty((2, k), np.float32),
        np.empty((2, 16), np.uint16),
        np.empty((2, 16), np.float32),
    )
    for row in range(len(users)):
        user, item = users[row], items[row]
        used = 1 + draw_negatives(
            state.visible,
            state.seen_set,
            state.clock[ITEMS],
            user,
            item,
            -1,
            seeds[row],
            negatives,
        )
        candidates[0] = item
        candidates[1:used] = negatives[: used - 1]
        now = np.float64(times[row])
        found = gather_neighbours(state, user, now)
        standpoint = compute_standpoint(state, user, now)
        arrays = FeatureArrays(
            standpoint, find_control_routers(state, controls, standpoint, user, near), near
        )
        _fill(state, controls, arrays, candidates[:used], raw)
        if scored[row] and not has_seen(state.seen_set, user, item):
            scoring = _choose_scoring(combiner, compute_maturity(state.history_length[user]))
            seen = list_seen_items(state.seen_item, state.seen_before, state.seen_last[user])
            taken = takes[1][takes[0][user] : takes[0][user + 1]]
            barred = _find_barred_items(state.visible, seen, item, taken)
            _rank(state, controls, arrays, scoring, item, raw[:1], barred, logs, out[row, :, :5])
            if fixed.shape[1]:
                _rank_fixed(
                    state,
                    controls,
                    arrays,
                    scoring,
                    item,
                    raw[:1],
                    fixed[user],
                    logs,
                    out[row, :, 5:],
                )
        release_neighbours(state.near_slow, state.near_fast, found)
        if not learned[row]:
            continue
        learn_arms(
            combiner,
            compute_maturity(state.history_length[user]),
            state.adoptions,
            candidates[:used],
            raw[:used],
            values[:used],
            bins[:used],
        )
        is_new = not has_seen(state.seen_set, user, item)
        compute_increments(state, item, 1.0, trust)
        choose_routers(state, user, item, 1.0, trust, routers, weights)
        apply_one(state, user, item, times[row], trust, routers, weights)
        follow_controls(state, controls, user, item, is_new)
