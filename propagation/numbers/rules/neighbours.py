"""Item-kNN, slow and fast, by decayed co-adoption counts.

An item has at most 384 neighbours.

Source: docs/numbers.md, "Rule 3"; docs/method.md has the measurements.
"""

import numpy as np
from numba import njit

from propagation.numbers.factors import BY_SECONDS, fade_by_seconds
from propagation.numbers.kernels import inner_kernel, kernel

HISTORY = 50
NEIGHBOURS, KEPT = 384, 320
SLOW_DECAY = 0.97
# The fast kNN fades by order and seconds, or by order alone over fewer items.
FAST_DECAY = 0.85
FAST_ORDER_DECAY, FAST_ORDER_HISTORY = 0.7, 15
CO_DECAY, CO_HISTORY = 0.9, 20
DAMPING = np.float32(5.0)


@kernel
def list_past_items(history, following, length):
    """Return a user's last items, at most 50, newest first.

    Args:
        history: [50] the user's ring of items.
        following: Where its next item goes.
        length: The user's interactions.
    """
    items = np.empty(min(length, HISTORY), np.int64)
    place = np.int64(following)
    for age in range(len(items)):
        place = place - 1 if place > 0 else HISTORY - 1
        items[age] = history[place]
    return items


@kernel
def list_past_times(history_time, following, length):
    """Return when the items of `list_past_items` were chosen, in seconds since 1970."""
    times = np.empty(min(length, HISTORY), np.uint32)
    place = np.int64(following)
    for age in range(len(times)):
        place = place - 1 if place > 0 else HISTORY - 1
        times[age] = history_time[place]
    return times


@njit(inline="always")
def remember(state, user, item, time):
    """Add an item to the user's history.

    Args:
        time: Seconds since 1970.
    """
    state.history[user, state.history_next[user]] = item
    state.history_time[user, state.history_next[user]] = time
    state.history_next[user] = (state.history_next[user] + 1) % HISTORY
    state.history_length[user] += 1


@kernel
def find_place(neighbour, item, filled, other):
    """Return the place of `other` among the item's first neighbours, or -1."""
    found, target = np.int32(-1), np.int32(other)
    for place in range(np.int32(filled)):
        found = max(found, np.int32(place) if neighbour[item, place] == target else np.int32(-1))
    return np.int64(found)


@inner_kernel
def _keep_nearest(neighbour, together, filled, item, adoptions):
    """Keep an item's 320 nearest neighbours as read.

    Of equally near ones the older are kept.
    """
    size = filled[item]
    near = np.empty(size, np.float32)
    for place in range(size):
        near[place] = together[item, place] / np.sqrt(
            np.float32(adoptions[neighbour[item, place]] + DAMPING)
        )
    threshold = np.partition(near, size - KEPT)[size - KEPT]
    ties = KEPT - np.sum(near > threshold)
    kept = 0
    for place in range(size):
        if near[place] < threshold or (near[place] == threshold and ties == 0):
            continue
        ties -= near[place] == threshold
        neighbour[item, kept] = neighbour[item, place]
        together[item, kept] = together[item, place]
        kept += 1
    filled[item] = kept


@kernel
def count_together(neighbour, together, filled, item, other, weight, adoptions):
    """Add weight to the co-adoption count of an item and another one."""
    place = find_place(neighbour, item, filled[item], other)
    if place >= 0:
        together[item, place] += weight
        return
    # a full row makes room for many newcomers at once: one place, always the least, would never let
    # one of them grow
    if filled[item] == NEIGHBOURS:
        _keep_nearest(neighbour, together, filled, item, adoptions)
    place = np.int64(filled[item])
    filled[item] += 1
    neighbour[item, place] = other
    together[item, place] = weight


@kernel
def add_co_adoptions(neighbour, together, filled, adoptions, past, item):
    """Add .9^age to the co-adoptions of the user's last items.

    It is added to co[j,i] for each of the user's last 20 items j, in both directions.
    """
    weight = np.float32(1.0)
    for other in past[:CO_HISTORY]:
        if other != item:
            count_together(neighbour, together, filled, item, other, weight, adoptions)
            count_together(neighbour, together, filled, other, item, weight, adoptions)
        weight *= np.float32(CO_DECAY)


@inner_kernel
def _compute_age_weights(times, now, by_seconds):
    """Return the slow and fast weights of past items by age.

    Returns:
        [2, past] f64, each summing to 1: .97^age (slow), and (fast) .85^age / (1 + seconds / 30),
        or without `by_seconds` .7^age of the first 15.
    """
    weights = np.zeros((2, len(times)))
    slow, fast = 1.0, 1.0
    for age in range(len(times)):
        weights[0, age] = slow
        slow *= SLOW_DECAY
        if by_seconds:
            weights[1, age] = fast * fade_by_seconds(now, times[age])
            fast *= FAST_DECAY
        elif age < FAST_ORDER_HISTORY:
            weights[1, age] = fast
            fast *= FAST_ORDER_DECAY
    weights[0] /= weights[0].sum()
    weights[1] /= weights[1].sum()
    return weights


@kernel
def _compute_shares(adoptions, past, times, now, by_seconds):
    """Return the weight of a co-adoption with each past item.

    It is the weight of the item's age, damped by its popularity.

    Returns:
        [2, past] f32, slow and fast.
    """
    weights = _compute_age_weights(times, now, by_seconds)
    shares = np.empty((2, len(past)), np.float32)
    for age in range(len(past)):
        damped = 1.0 / np.sqrt(adoptions[past[age]] + DAMPING)
        for speed in range(2):
            shares[speed, age] = weights[speed, age] * damped
    return shares


@njit(inline="always")
def _list_shares(state, user, now):
    """Return a user's past items with their weights."""
    following, length = state.history_next[user], state.history_length[user]
    past = list_past_items(state.history[user], following, length)
    times = list_past_times(state.history_time[user], following, length)
    by_seconds = state.factors.plan[BY_SECONDS] > 0
    return past, _compute_shares(state.adoptions, past, times, now, by_seconds)


@kernel
def compute_nearness(near, adopted):
    """Return a sum over neighbours, damped by the item's own popularity.

    The sum is near_slow or near_fast. The result has 32 bits if both arguments do.
    """
    return near / np.sqrt(adopted + DAMPING)


@njit(inline="always")
def gather_neighbours(state, user, now):
    """Sum the neighbours of the user's last items into scratch rows.

    The rows are near_slow and near_fast.

    Args:
        user: A row, or -1.
        now: Seconds since 1970.

    Returns:
        The items that have any, each once, for `release_neighbours`; none without a history.
    """
    found = np.empty(0, np.int64)
    if user >= 0 and state.history_length[user] > 0:
        past, shares = _list_shares(state, user, now)
        found = _gather(
            state.neighbour,
            state.together,
            state.neighbour_count,
            past,
            shares,
            state.near_slow,
            state.near_fast,
            state.clock[3],
        )
    return found


@inner_kernel
def _gather(neighbour, together, filled, past, shares, near_slow, near_fast, items):
    found = np.empty(
        min(np.sum(filled[past]), items) + 1, np.int64
    )  # one more: written before it is known to be new
    count = 0
    for age in range(len(past)):
        other = past[age]
        slow, fast = shares[0, age], shares[1, age]
        for place in range(filled[other]):
            item = neighbour[other, place]
            before = near_slow[item]
            found[count] = item
            count += before == 0
            near_slow[item] = before + slow * together[other, place]
        if fast > 0:
            for place in range(filled[other]):
                near_fast[neighbour[other, place]] += fast * together[other, place]
    return found[:count]


@njit(inline="always")
def look_up_neighbours(state, user, items, now):
    """Sum like `gather_neighbours`, for these few items only."""
    past, shares = _list_shares(state, user, now)
    _look_up(
        state.neighbour,
        state.together,
        state.neighbour_count,
        past,
        shares,
        state.near_slow,
        state.near_fast,
        items,
    )


@inner_kernel
def _look_up(neighbour, together, filled, past, shares, near_slow, near_fast, items):
    for age in range(len(past)):
        other = past[age]
        for item in items:
            place = find_place(neighbour, other, filled[other], item)
            if place >= 0:
                near_slow[item] += shares[0, age] * together[other, place]
                near_fast[item] += shares[1, age] * together[other, place]


@kernel
def release_neighbours(near_slow, near_fast, found):
    """Set the scratch rows of gathered items back to zero."""
    for item in found:
        near_slow[item] = 0.0
        near_fast[item] = 0.0
