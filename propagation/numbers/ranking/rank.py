"""Stage two of ranking: the best items for a user, exactly scored."""

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from propagation.numbers.kernels import inner_kernel, kernel
from propagation.numbers.ranking.quantised_scores import (
    ADOPTERS,
    ATTRIBUTES,
    BINS,
    CONTENT,
    OF_HISTORY,
    OF_TASTE,
    PARTS,
    PROFILE,
    SESSION,
    TASTE,
    raise_neighbours,
)
from propagation.numbers.ranking.top_k import select_best_rows, sort_by_score
from propagation.numbers.rules import (
    FEATURES,
    KNN_FLOOR,
    PRIOR,
    READ_ROUTERS,
    Feature,
    Standpoint,
    compute_maturity,
    compute_standpoint,
    fill_from,
    find_adopter_bin,
    find_softmax_largest,
    gather_neighbours,
    get_weight,
    has_history,
    has_seen,
    list_seen_items,
    release_neighbours,
    score,
    standardise,
)

SLOPES = 11
POPULARITY, RECENT = Feature.POPULARITY.value, Feature.RECENT.value
SLOW, FAST = Feature.KNN_SLOW.value, Feature.KNN_FAST.value
HISTORY, TASTE_VECTOR = Feature.HISTORY.value, Feature.TASTE.value
PART_FEATURES = (
    Feature.CONTENT.value,
    Feature.ATTRIBUTES.value,
    Feature.ADOPTERS.value,
    Feature.PROFILE.value,
    Feature.LIFT_SESSION.value,
    Feature.LIFT_TASTE.value,
)


class Asker(NamedTuple):
    """The reader of a ranking.

    Args:
        user: Row; -1 for an unknown user.
        arm: Of the combiner.
        factors: [K] f64 of the taste routers, from the user's filter rules; ones without rules.
        own: [2,D] f32 content and attributes of the user's own text, read without history.
        now: Seconds since 1970, the moment of the read.
    """

    user: int
    arm: int
    factors: NDArray[np.float64]
    own: NDArray[np.float32]
    now: float


class Ranked(NamedTuple):
    """n items, best first.

    Args:
        rows: [n] i64.
        scores: [n] f64.
        raw: [n,F] f64 of every feature; likewise values and weights.
    """

    rows: NDArray[np.int64]
    scores: NDArray[np.float64]
    raw: NDArray[np.float64]
    values: NDArray[np.float64]
    weights: NDArray[np.float64]


@kernel
def build_standpoint_for(state, asker):
    """Return the user's standpoint, with the filter rules applied.

    The rules' factors apply to the taste routers.

    Factors multiply the softmax before the 32 largest are taken and renormalised (rule 2). Without
    history the user's own text is read.
    """
    plain = compute_standpoint(state, asker.user, asker.now)
    if not has_history(state.history_length, asker.user):
        return Standpoint(
            asker.own[0],
            asker.own[1],
            plain.profile,
            plain.session,
            plain.taste,
            plain.history,
            plain.vector,
        )
    if (asker.factors == 1.0).all():
        return plain
    logits = state.taste.sharpness * state.taste.trust[asker.user].astype(np.float64) + np.log(
        asker.factors
    )
    taste = find_softmax_largest(logits, READ_ROUTERS, asker.user, state.seed)
    return Standpoint(
        plain.content,
        plain.attributes,
        plain.profile,
        plain.session,
        taste,
        plain.history,
        plain.vector,
    )


@inner_kernel
def _find_user_bin(history_length, user):
    return compute_maturity(history_length[user]) if user >= 0 else 0


@inner_kernel
def _compute_slopes(combiner, arm, user_bin, out):
    """Write the combiner as a linear function of the raw features.

    Each item bin has a column of its own. Both kNN features count as ln(KNN_FLOOR), which is what
    an item without near neighbours has.

    Args:
        out: [11,4], filled.
    """
    probes = np.zeros((2, FEATURES))
    probes[1] = 1.0
    values = np.empty_like(probes)
    standardise(combiner, probes, values)
    for item_bin in range(BINS):
        constant = 0.0
        for feature in range(FEATURES):
            weight = (
                get_weight(combiner, arm, feature, user_bin, item_bin)
                if combiner.mask[arm, feature] > 0
                else 0.0
            )
            slope = weight * (values[1, feature] - values[0, feature])
            constant += weight * values[0, feature]
            if feature in (SLOW, FAST):
                constant += slope * np.log(KNN_FLOOR)
            elif feature == POPULARITY:
                out[1, item_bin] = slope
            elif feature == RECENT:
                out[2, item_bin] = slope
            elif feature == HISTORY:
                out[OF_HISTORY, item_bin] = slope
            elif feature == TASTE_VECTOR:
                out[OF_TASTE, item_bin] = slope
            for part in range(PARTS):
                if PART_FEATURES[part] == feature:
                    out[3 + part, item_bin] = slope
        out[0, item_bin] = constant


@inner_kernel
def _compute_components(vector, start, places, weights):
    """Return the components that are not zero.

    They are padded with zero weights to a multiple of four.
    """
    count = 0
    for place in range(len(vector)):
        if vector[place] != 0.0:
            places[count] = start + place
            weights[count] = vector[place]
            count += 1
    while count % 4:
        places[count] = start
        weights[count] = 0.0
        count += 1
    return count


@inner_kernel
def _compute_bank_components(bank, pi, total, start, places, weights, mass):
    """Fill a bank's components, and return how many there are.

    They are v_k = pi_k / (n_k + 50).

    Args:
        mass: [2], filled: mass[0] with the factor of N.v / (c + .5), mass[1] with 50 sum v.
    """
    routers, values = pi
    v = np.zeros(bank.mass.shape[1])
    for place in range(len(routers)):
        v[routers[place]] = values[place] / (bank.total[routers[place]] + PRIOR)
    mass[0] = total
    mass[1] = PRIOR * v.sum()
    return _compute_components(v, start, places, weights)


@kernel(nogil=True)
def prepare(state, combiner, sketch, asker, places, weights, counts, slopes, mass, history, taste):
    """Prepare one query of `score_blocks` and `add_factors`.

    Args:
        places: [6,M] filled; likewise weights.
        counts: [6] filled.
        slopes: [11,4] filled.
        mass: [2,2] filled.
        history: [h] filled with x of the history factor.
        taste: [t] filled with the taste vector.
    """
    standpoint = build_standpoint_for(state, asker)
    _compute_slopes(combiner, asker.arm, _find_user_bin(state.history_length, asker.user), slopes)
    history[:] = standpoint.history
    taste[:] = standpoint.vector
    bounds = sketch.bounds
    counts[CONTENT] = _compute_components(
        standpoint.content, bounds[CONTENT], places[CONTENT], weights[CONTENT]
    )
    counts[ATTRIBUTES] = _compute_components(
        standpoint.attributes, bounds[ATTRIBUTES], places[ATTRIBUTES], weights[ATTRIBUTES]
    )
    counts[ADOPTERS] = _compute_components(
        standpoint.content, bounds[ADOPTERS], places[ADOPTERS], weights[ADOPTERS]
    )
    counts[PROFILE] = _compute_components(
        standpoint.profile, bounds[PROFILE], places[PROFILE], weights[PROFILE]
    )
    total = state.totals[0] + 0.5 * state.totals[1]
    counts[SESSION] = _compute_bank_components(
        state.session,
        standpoint.session,
        total,
        bounds[SESSION],
        places[SESSION],
        weights[SESSION],
        mass[0],
    )
    counts[TASTE] = _compute_bank_components(
        state.taste, standpoint.taste, total, bounds[TASTE], places[TASTE], weights[TASTE], mass[1]
    )
    for part in range(PARTS):
        if not slopes[3 + part].any():
            counts[part] = 0


@inner_kernel
def _list_neighbour_slopes(combiner, arm, user_bin):
    """Return how much both kNN features add to a score.

    Returns:
        [2,4] f32, slow and fast, by item bin.
    """
    probes = np.zeros((2, FEATURES))
    probes[1] = 1.0
    values = np.empty_like(probes)
    standardise(combiner, probes, values)
    slopes = np.zeros((2, BINS), np.float32)
    for row, feature in enumerate((SLOW, FAST)):
        for item_bin in range(BINS):
            if combiner.mask[arm, feature] > 0:
                weight = get_weight(combiner, arm, feature, user_bin, item_bin)
                slopes[row, item_bin] = weight * (values[1, feature] - values[0, feature])
    return slopes


@njit(inline="always")
def _add_neighbours(state, sketch, found, slopes, scores):
    """Raise the approximate scores of the gathered neighbours from the kNN's floor."""
    raise_neighbours(
        sketch.bin.reshape(-1),
        state.adoptions,
        state.near_slow,
        state.near_fast,
        found,
        slopes,
        scores,
    )


@njit(inline="always")
def _build_shortlist(
    state, combiner, sketch, asker, found, scores, left_out, leave_seen, allowed, count
):
    if has_history(state.history_length, asker.user):
        user_bin = _find_user_bin(state.history_length, asker.user)
        slopes = _list_neighbour_slopes(combiner, asker.arm, user_bin)
        _add_neighbours(state, sketch, found, slopes, scores)
        if leave_seen:
            for item in list_seen_items(
                state.seen_item, state.seen_before, state.seen_last[asker.user]
            ):
                scores[item] = -np.inf
    for item in left_out:
        scores[item] = -np.inf
    if len(allowed):
        for item in range(len(allowed)):
            if not allowed[item]:
                scores[item] = -np.inf
    return select_best_rows(scores, count, asker.user, state.seed)


@njit(inline="always")
def _score_rows(state, combiner, asker, standpoint, rows, limit):
    """Return the `limit` best of these rows, exactly scored."""
    raw = np.empty((len(rows), FEATURES))
    values = np.empty_like(raw)
    scores = np.empty(len(rows))
    fill_from(state, standpoint, rows, raw)
    standardise(combiner, raw, values)
    user_bin = _find_user_bin(state.history_length, asker.user)
    for place in range(len(rows)):
        scores[place] = score(
            combiner,
            asker.arm,
            values[place],
            user_bin,
            find_adopter_bin(state.adoptions[rows[place]]),
        )
    order = sort_by_score(rows, scores, asker.user, state.seed)[:limit]
    weights = np.zeros((len(order), FEATURES))
    for place in range(len(order)):
        item_bin = find_adopter_bin(state.adoptions[rows[order[place]]])
        for feature in range(FEATURES):
            if combiner.mask[asker.arm, feature] > 0:
                weights[place, feature] = get_weight(
                    combiner, asker.arm, feature, user_bin, item_bin
                )
    return Ranked(rows[order], scores[order], raw[order], values[order], weights)


@inner_kernel
def _keep_rankable(known, seen_set, visible, user, candidates, left_out, leave_seen):
    """Return the candidates that may be ranked.

    Hidden items, those left out, and with `leave_seen` those that the user had are not.

    Args:
        known: Whether the user has a history.
    """
    rows = np.empty(len(candidates), np.int64)
    kept = 0
    for item in candidates:
        had = (known and leave_seen and has_seen(seen_set, user, item)) or (item == left_out).any()
        if visible[item] and not had:
            rows[kept] = item
            kept += 1
    return rows[:kept]


@kernel(nogil=True)
def rank(
    state,
    combiner,
    sketch,
    asker,
    scores,
    candidates,
    left_out,
    leave_seen,
    allowed,
    count,
    limit,
):
    """Rank the catalogue's best items, or given candidates, exactly.

    One kernel does both, because each copy of what they share takes long to compile.

    Args:
        scores: Approximate scores of the catalogue, from which a shortlist is taken; overwritten.
            Empty: the candidates are ranked.
        count: How many items the shortlist has.
        limit: How many of the best are returned.
        left_out: Rows to leave out.
        leave_seen: Leave out the items that the user has had.
        allowed: [<= items] bool; empty for all. Only for the catalogue.
    """
    found = gather_neighbours(state, asker.user, asker.now)
    standpoint = build_standpoint_for(state, asker)
    if len(scores) > 0:
        rows = _build_shortlist(
            state,
            combiner,
            sketch,
            asker,
            found,
            scores,
            left_out,
            leave_seen,
            allowed,
            count,
        )
    else:
        rows = _keep_rankable(
            has_history(state.history_length, asker.user),
            state.seen_set,
            state.visible,
            asker.user,
            candidates,
            left_out,
            leave_seen,
        )
    ranked = _score_rows(state, combiner, asker, standpoint, rows, limit)
    release_neighbours(state.near_slow, state.near_fast, found)
    return ranked


@kernel(nogil=True)
def count_adopters_by_router(seen_item, seen_router, catalogue, items, out):
    """Count distinct adopters of items, by bank and main router.

    Args:
        seen_item: [adoptions].
        catalogue: How many items there are.
        out: [len(items), 2, K] i64, filled.
    """
    place_of = np.full(catalogue, -1, np.int64)
    for place in range(len(items)):
        place_of[items[place]] = place
    out[:] = 0
    for adoption in range(len(seen_item)):
        place = place_of[seen_item[adoption]]
        if place >= 0:
            out[place, 0, seen_router[adoption, 0]] += 1
            out[place, 1, seen_router[adoption, 1]] += 1
