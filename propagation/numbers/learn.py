"""The learn pass: rules 1 to 5 for interactions in sequence order.

It learns a block of interactions, or learns it again.
"""

import numpy as np
from numba import njit

from propagation.numbers.factors import learn_factors
from propagation.numbers.kernels import inner_kernel, kernel
from propagation.numbers.limits import is_withheld, limit_weight, spend_mass
from propagation.numbers.negatives import RECORDED, count_recorded_negatives, draw_negatives
from propagation.numbers.rules import (
    FEATURES,
    LIFT_CLIP,
    add_co_adoptions,
    add_seen,
    add_trust,
    compute_lifts,
    compute_maturity,
    decay_count,
    fill_features,
    find_adopter_bin,
    find_softmax_largest,
    has_seen,
    learn_pairs,
    list_past_items,
    normalize_vector,
    observe,
    remember,
    score,
    share_of,
    standardise,
    write,
)

CONTENT_DECAY = 0.95
LEARN, RELEARN, FOLLOW = range(3)


@njit(inline="always")
def apply_one(state, user, item, time, increments, routers, weights):
    """Apply an interaction from what it wrote: all changes but the combiner's.

    A repeat of (user, item) leaves N, n, c, co-counts, adopters' sums and factors unchanged.

    Args:
        time: Seconds since 1970.
    """
    add_trust(state.session, user, increments[0])
    add_trust(state.taste, user, increments[1])
    state.user_content[user] = (
        np.float32(CONTENT_DECAY) * state.user_content[user] + state.content[item]
    )
    state.user_attributes[user] = (
        np.float32(CONTENT_DECAY) * state.user_attributes[user] + state.attributes[item]
    )
    if not has_seen(state.seen_set, user, item):
        write(state.session, item, routers[0], weights[0])
        write(state.taste, item, routers[1], weights[1])
        spend_mass(state.day, state.day_mass, state.today, state.limits, user, weights[1])
        add_co_adoptions(
            state.neighbour,
            state.together,
            state.neighbour_count,
            state.adoptions,
            list_past_items(
                state.history[user], state.history_next[user], state.history_length[user]
            ),
            item,
        )
        state.adopters[item] += normalize_vector(state.user_content[user])
        age = state.clock[0] - state.recent_at[item]
        state.recent[item] = decay_count(state.recent[item], age) + 1.0
        state.recent_at[item] = state.clock[0]
        state.adoptions[item] += 1.0
        state.totals[0] += 1.0
        add_seen(
            state,
            user,
            item,
            routers[0, np.argmax(weights[0])],
            routers[1, np.argmax(weights[1])],
            time,
        )
        learn_factors(
            state.factors,
            state.present,
            state.seen_set,
            state.seen_user,
            state.seen_item,
            state.seen_time,
            state.seen_before,
            state.seen_catalogue,
            state.seed,
            state.clock[1] - 1,
        )
    remember(state, user, item, time)
    state.clock[0] += 1


@inner_kernel
def _compute_bank_increments(bank, share_of_item, item, weight, out):
    """Fill one bank's increments of rule 4 for an item.

    The item is not withheld.

    Args:
        out: [K], filled.
    """
    compute_lifts(bank, share_of_item, item, out)
    for router in range(len(out)):
        out[router] = weight * min(max(out[router], -LIFT_CLIP), LIFT_CLIP)


@njit(inline="always")
def compute_increments(state, item, weight, trust):
    """Fill the increments of rule 4 for both banks.

    If the item is withheld, they are zero.

    Args:
        trust: Increments [2,K] to fill.
    """
    trust[:] = 0.0
    if not is_withheld(state.adoptions[item], state.limits):
        p = share_of(state.adoptions[item], state.totals)
        session, taste = state.session, state.taste
        _compute_bank_increments(session, p, item, weight, trust[0, : session.mass.shape[1]])
        _compute_bank_increments(taste, p, item, weight, trust[1, : taste.mass.shape[1]])


@inner_kernel
def _fill_shares(bank, user, increments, weight, seed, routers, weights):
    """Fill in q of rule 5, from the trust after rule 4.

    Rule 4 changes the stored trust only later.
    """
    trust = np.float32(bank.discount) * bank.trust[user] + increments[: bank.trust.shape[1]]
    places, values = find_softmax_largest(
        bank.sharpness * trust.astype(np.float64), len(routers), user, seed
    )
    routers[:] = 0
    weights[:] = 0.0
    for place in range(len(places)):
        routers[place] = places[place]
        weights[place] = weight * values[place]


@njit(inline="always")
def choose_routers(state, user, item, weight, trust, routers, weights):
    """Fill in q of rule 5 for both banks.

    A repeat of (user, item) writes nothing: its weights are zeros.

    Args:
        trust: [2,K] the increments of rule 4.
        routers: [2,16] filled with the routers to write to; likewise weights.
    """
    routers[:] = 0
    weights[:] = 0.0
    if not has_seen(state.seen_set, user, item):
        mass = limit_weight(state.day, state.day_mass, state.today, state.limits, user, weight)
        _fill_shares(state.session, user, trust[0], mass, state.seed, routers[0], weights[0])
        _fill_shares(state.taste, user, trust[1], mass, state.seed, routers[1], weights[1])


@kernel
def learn_arms(combiner, user_bin, adoptions, candidates, raw, values, bins):
    """Apply rule 3 of one interaction.

    Args:
        user_bin: The user's maturity.
        candidates: [n] the positive item and its negatives; without a negative nothing is learned.
        raw: [n,F] their features.
        values: Scratch; likewise bins.
    """
    used = len(candidates)
    for place in range(used):
        bins[place] = find_adopter_bin(adoptions[candidates[place]])
    standardise(combiner, raw, values)
    first = score(combiner, 0, values[0], user_bin, bins[0])
    if used == 1:
        return first, np.nan
    second = score(combiner, 0, values[1], user_bin, bins[1])
    learn_pairs(combiner, values, user_bin, bins)
    observe(combiner, raw)
    return first, second


@kernel(nogil=True)
def learn_block(
    state,
    combiner,
    mode,
    users,
    items,
    days,
    times,
    caller_negatives,
    weights_in,
    seeds,
    negatives,
    scores,
    cosines,
    trust,
    routers,
    weights,
):
    """Learn B interactions in order, or follow a learner.

    The state changes in place. One kernel does all three, because each copy of it takes long to
    compile. LEARN fills the block's columns (see LearnedBlock). RELEARN reads those that were
    stored, and fills scores and trust. FOLLOW makes the same changes without computing them again;
    only the factors are, because what they change is too much to store; the combiner is left alone.

    Args:
        mode: LEARN, RELEARN or FOLLOW.
        days: [B] the UTC day of each commit.
        times: [B] u32 seconds since 1970 of each event.
        caller_negatives: [B]; -1 for none; RECORDED if `negatives` holds earlier draws.
    """
    candidates = np.empty(1 + negatives.shape[1], np.int64)
    raw = np.empty((len(candidates), FEATURES))
    values = np.empty_like(raw)
    bins = np.empty(len(candidates), np.int64)
    for row in range(len(users)):
        user, item = users[row], items[row]
        if mode != FOLLOW:
            if mode == RELEARN or caller_negatives[row] == RECORDED:
                used = 1 + count_recorded_negatives(negatives[row])
            else:
                used = 1 + draw_negatives(
                    state.visible,
                    state.seen_set,
                    state.clock[3],
                    user,
                    item,
                    caller_negatives[row],
                    seeds[row],
                    negatives[row],
                )
            candidates[0] = item
            candidates[1:used] = negatives[row, : used - 1]
            fill_features(state, user, candidates[:used], np.float64(times[row]), raw[:used])
            if mode == LEARN:
                cosines[row] = 0.0
                cosines[row, :used] = raw[:used, 9]
            raw[:used, 9] = cosines[row, :used]  # as stored, so that a rebuild reads the same
            scores[row] = learn_arms(
                combiner,
                compute_maturity(state.history_length[user]),
                state.adoptions,
                candidates[:used],
                raw[:used],
                values[:used],
                bins[:used],
            )
        state.today[0] = days[row]
        if mode != FOLLOW:
            compute_increments(state, item, weights_in[row], trust[row])
        if mode == LEARN:
            choose_routers(
                state, user, item, weights_in[row], trust[row], routers[row], weights[row]
            )
        apply_one(state, user, item, times[row], trust[row], routers[row], weights[row])
