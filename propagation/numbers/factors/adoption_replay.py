"""Which adoptions the factors learn: each new one, and old ones again.

All draws come from a hash of the new adoption's user and item. So tables depend on the list of
adoptions and on which items were removed, and on nothing else: a rebuild, a follower and a replica
learn the same ones.

Source: docs/numbers.md, "Learned factors".
"""

import numpy as np

from propagation.numbers.factors.history_factor import learn_choice, list_history
from propagation.numbers.factors.tables import OWN_STEPS, RECENT_REPLAYS, REPLAYS, STEPS
from propagation.numbers.factors.taste_vector import step_pair
from propagation.numbers.kernels import inner_kernel, kernel
from propagation.numbers.seeded_hash import mix_seed
from propagation.numbers.seen_items import add_key, has_seen

NEGATIVES = 4
TRIES = 16
RECENT_AGE, OWN_AGE = 3_000.0, 10.0
OWN_HISTORY = 200
TO_UNIT = 2.0**-53


@inner_kernel
def _draw_place(draw, seed, places):
    return np.int64(mix_seed(draw, seed) % np.uint64(places))


@inner_kernel
def _draw_age(draw, seed, mean):
    """Draw an age from the exponential distribution, rounded down."""
    unit = np.float64(mix_seed(draw, seed) >> np.uint64(11)) * TO_UNIT
    return np.int64(-mean * np.log(1.0 - unit))


@inner_kernel
def _draw_unseen(present, seen_set, user, catalogue, first, seed):
    """Draw an item of the catalogue that the user has not had.

    Removed items are passed over. Their rows count among the `catalogue` rows, so that the draws
    of other items stay the same.

    Returns:
        Its row; -1 if 16 tries find none.
    """
    for attempt in range(TRIES):
        item = _draw_place(first + np.uint64(attempt), seed, catalogue)
        if present[item] and not has_seen(seen_set, user, item):
            return item
    return np.int64(-1)


@inner_kernel
def _draw_negatives(present, seen_set, user, catalogue, first, seed):
    """Draw at most four items that the user has not had."""
    negatives = np.empty(NEGATIVES, np.int64)
    count = 0
    for draw in range(NEGATIVES):
        item = _draw_unseen(
            present, seen_set, user, catalogue, first + np.uint64(draw * TRIES), seed
        )
        if item >= 0:
            negatives[count] = item
            count += 1
    return negatives[:count]


@inner_kernel
def _step_own(
    factors, present, seen_set, seen_user, seen_item, seen_before, place, catalogue, first, seed
):
    """Step a user's taste vector on the user's newest adoptions.

    Args:
        place: The newest of them.
    """
    own = np.empty(OWN_HISTORY, np.int64)
    size, user = 0, seen_user[place]
    while place >= 0 and size < OWN_HISTORY:
        own[size] = seen_item[place]
        place = seen_before[place]
        size += 1
    for step in range(factors.plan[OWN_STEPS]):
        draw = first + np.uint64(step * (TRIES + 1))
        age = min(_draw_age(draw, seed, OWN_AGE), size - 1)
        other = _draw_unseen(present, seen_set, user, catalogue, draw + np.uint64(1), seed)
        if other >= 0:
            step_pair(factors, user, own[age], other)


@kernel
def learn_factors(
    factors,
    present,
    seen_set,
    seen_user,
    seen_item,
    seen_time,
    seen_before,
    seen_catalogue,
    own_seed,
    place,
):
    """Learn from an adoption, the newest of those in `seen_set`.

    It takes arrays of the state and not the state, which would take seconds longer to compile.

    Args:
        own_seed: The state's seed.
        place: Of the adoption in the list.
    """
    catalogue = np.int64(seen_catalogue[place])
    key = np.uint64(seen_user[place]) << np.uint64(32) | np.uint64(seen_item[place])
    seed = mix_seed(key, own_seed)
    draw, stride = np.uint64(0), np.uint64(NEGATIVES * TRIES + 1)
    if factors.target.shape[1] > 0:
        for sample in range(1 + factors.plan[REPLAYS] + factors.plan[RECENT_REPLAYS]):
            chosen, first = place, draw
            if sample > 0:
                draw += stride
                if place == 0:
                    break
                if sample <= factors.plan[REPLAYS]:
                    chosen = _draw_place(draw, seed, place)
                else:
                    chosen = place - 1 - _draw_age(draw, seed, RECENT_AGE) % place
                first = draw + np.uint64(1)
            last = seen_before[chosen]
            if last >= 0:
                user, now = seen_user[chosen], np.float64(seen_time[chosen])
                negatives = _draw_negatives(present, seen_set, user, catalogue, first, seed)
                if len(negatives) > 0:
                    items, shares = list_history(seen_item, seen_time, seen_before, last, now)
                    learn_choice(factors, items, shares, seen_item[chosen], negatives)
        draw += stride
    if factors.taste.shape[1] > 0:
        for _ in range(factors.plan[STEPS]):
            old = _draw_place(draw, seed, place + 1)
            user = seen_user[old]
            other = _draw_unseen(present, seen_set, user, catalogue, draw + np.uint64(1), seed)
            if other >= 0:
                step_pair(factors, user, seen_item[old], other)
            draw += np.uint64(TRIES + 1)
        _step_own(
            factors,
            present,
            seen_set,
            seen_user,
            seen_item,
            seen_before,
            place,
            catalogue,
            draw,
            seed,
        )


@kernel(nogil=True)
def relearn_factors(state, begin, end):
    """Learn the adoptions [begin, end) of the list, in order.

    Args:
        state: With tables and a `seen_set` that have the adoptions before `begin` alone.
    """
    for place in range(begin, end):
        key = np.int64(state.seen_user[place]) << 32 | np.int64(state.seen_item[place])
        add_key(state.seen_set, key)
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
            place,
        )
