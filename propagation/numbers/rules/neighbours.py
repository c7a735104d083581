"""Item-kNN, slow and fast, by decayed co-adoption counts.

An item has at most 384 neighbours.

Source: docs/numbers.md, "Rule 3"; docs/method.md has the measurements.
"""

import numpy as np
from numba import njit

HISTORY = 50
FAST_HISTORY = 15
NEIGHBOURS, KEPT = 384, 320
SLOW_DECAY, FAST_DECAY = 0.97, 0.7
CO_DECAY, CO_HISTORY = 0.9, 20
DAMPING = np.float32(5.0)


@njit(cache=True)
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


@njit(inline="always")
def remember(state, user, item):
    """Add an item to the user's history."""
    state.history[user, state.history_next[user]] = item
    state.history_next[user] = (state.history_next[user] + 1) % HISTORY
    state.history_length[user] += 1


@njit(cache=True)
def find_place(neighbour, item, filled, other):
    """Return the place of `other` among the item's first neighbours, or -1."""
    found, target = np.int32(-1), np.int32(other)
    for place in range(np.int32(filled)):
        found = max(found, np.int32(place) if neighbour[item, place] == target else np.int32(-1))
    return np.int64(found)


@njit(cache=True)
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


@njit(cache=True)
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


@njit(cache=True)
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


@njit(cache=True)
def _compute_age_weights(past):
    """Return the slow and fast weights of past items by age.

    Returns:
        [2, past] f64: .97^age (slow) and .7^age (fast, the first 15), each summing to 1.
    """
    weights = np.zeros((2, past))
    slow, fast = 1.0, 1.0
    for age in range(past):
        weights[0, age] = slow
        slow *= SLOW_DECAY
        if age < FAST_HISTORY:
            weights[1, age] = fast
            fast *= FAST_DECAY
    weights[0] /= weights[0].sum()
    weights[1] /= weights[1].sum()
    return weights


@njit(cache=True)
def _compute_shares(adoptions, past):
    """Return the weight of a co-adoption with each past item.

    It is the weight of the item's age, damped by its popularity.

    Returns:
        [2, past] f32, slow and fast.
    """
    weights = _compute_age_weights(len(past))
    shares = np.empty((2, len(past)), np.float32)
    for age in range(len(past)):
        damped = 1.0 / np.sqrt(adoptions[past[age]] + DAMPING)
        for speed in range(2):
            shares[speed, age] = weights[speed, age] * damped
    return shares


@njit(cache=True)
def compute_nearness(near, adopted):
    """Return a sum over neighbours, damped by the item's own popularity.

    The sum is near_slow or near_fast. It has 32 bits if both arguments do.

    32 bits if both arguments are.
    """
    return near / np.sqrt(adopted + DAMPING)


@njit(inline="always")
def gather_neighbours(state, user):
    """Sum the neighbours of the user's last items into scratch rows.

    The rows are near_slow and near_fast.

    Args:
        user: A row, or -1.

    Returns:
        The items that have any, each once, for `release_neighbours`; none without a history.
    """
    found = np.empty(0, np.int64)
    if user >= 0 and state.history_length[user] > 0:
        found = _gather(
            state.neighbour,
            state.together,
            state.neighbour_count,
            state.adoptions,
            list_past_items(
                state.history[user], state.history_next[user], state.history_length[user]
            ),
            state.near_slow,
            state.near_fast,
            state.clock[3],
        )
    return found


@njit(cache=True)
def _gather(neighbour, together, filled, adoptions, past, near_slow, near_fast, items):
    shares = _compute_shares(adoptions, past)
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
        if age < FAST_HISTORY:
            for place in range(filled[other]):
                near_fast[neighbour[other, place]] += fast * together[other, place]
    return found[:count]


@njit(inline="always")
def look_up_neighbours(state, user, items):
    """Sum like `gather_neighbours`, for these few items only."""
    _look_up(
        state.neighbour,
        state.together,
        state.neighbour_count,
        state.adoptions,
        list_past_items(state.history[user], state.history_next[user], state.history_length[user]),
        state.near_slow,
        state.near_fast,
        items,
    )


@njit(cache=True)
def _look_up(neighbour, together, filled, adoptions, past, near_slow, near_fast, items):
    shares = _compute_shares(adoptions, past)
    for age in range(len(past)):
        other = past[age]
        for item in items:
            place = find_place(neighbour, other, filled[other], item)
            if place >= 0:
                near_slow[item] += shares[0, age] * together[other, place]
                near_fast[item] += shares[1, age] * together[other, place]


@njit(cache=True)
def release_neighbours(near_slow, near_fast, found):
    """Set the scratch rows of gathered items back to zero."""
    for item in found:
        near_slow[item] = 0.0
        near_fast[item] = 0.0
