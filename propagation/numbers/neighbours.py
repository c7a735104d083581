"""Item-kNN, slow and fast: decayed co-adoption counts of at most 200 neighbours an item."""

import numpy as np
from numba import njit

HISTORY = 50
FAST_HISTORY = 15
NEIGHBOURS = 200
SLOW_DECAY, FAST_DECAY = 0.97, 0.8
CO_DECAY = 0.98
DAMPING = 5.0


@njit(cache=True)
def past_item(state, user, age):
    """The user's item `age` interactions ago (0: the last one)."""
    place = (state.history_next[user] - 1 - age) % HISTORY
    return state.history[user, place]


@njit(cache=True)
def remember(state, user, item):
    state.history[user, state.history_next[user]] = item
    state.history_next[user] = (state.history_next[user] + 1) % HISTORY
    state.history_length[user] += 1


@njit(cache=True)
def _count_together(state, item, other, weight):
    filled = state.neighbour_count[item]
    for place in range(filled):
        if state.neighbour[item, place] == other:
            state.together[item, place] += weight
            return
    if filled < NEIGHBOURS:
        state.neighbour[item, filled] = other
        state.together[item, filled] = weight
        state.neighbour_count[item] += 1
        return
    least = np.argmin(state.together[item])
    if state.together[item, least] < weight:
        state.neighbour[item, least] = other
        state.together[item, least] = weight


@njit(cache=True)
def add_co_adoptions(state, user, item):
    """co[j,i] grows by .98^age for each of the user's last 50 items j, in both directions."""
    weight = 1.0
    for age in range(min(state.history_length[user], HISTORY)):
        other = past_item(state, user, age)
        if other != item:
            _count_together(state, item, other, np.float32(weight))
            _count_together(state, other, item, np.float32(weight))
        weight *= CO_DECAY


@njit(cache=True)
def gather_neighbours(state, user):
    """Sum the neighbours of the user's last items into the scratch rows near_slow and near_fast."""
    past = min(state.history_length[user], HISTORY)
    slow_sum, fast_sum = 0.0, 0.0
    for age in range(past):
        slow_sum += SLOW_DECAY**age
        if age < FAST_HISTORY:
            fast_sum += FAST_DECAY**age
    slow = 1.0 / slow_sum
    fast = 1.0 / fast_sum
    for age in range(past):
        other = past_item(state, user, age)
        damped = 1.0 / np.sqrt(state.adoptions[other] + DAMPING)
        for place in range(state.neighbour_count[other]):
            item = state.neighbour[other, place]
            near = state.together[other, place] * damped / np.sqrt(state.adoptions[item] + DAMPING)
            state.near_slow[item] += np.float32(slow * near)
            if age < FAST_HISTORY:
                state.near_fast[item] += np.float32(fast * near)
        slow *= SLOW_DECAY
        fast *= FAST_DECAY


@njit(cache=True)
def release_neighbours(state, user):
    """Set the scratch rows back to zero."""
    for age in range(min(state.history_length[user], HISTORY)):
        other = past_item(state, user, age)
        for place in range(state.neighbour_count[other]):
            item = state.neighbour[other, place]
            state.near_slow[item] = 0.0
            state.near_fast[item] = 0.0
