"""Rule 3's features of (user, item) pairs, one column each."""

from enum import IntEnum

import numpy as np
from numba import njit

from propagation.numbers.mass import reading
from propagation.numbers.neighbours import gather_neighbours, release_neighbours
from propagation.numbers.trust import routing_weights


class Feature(IntEnum):
    """Columns of the feature matrix. LIFT_* and PROFILE are what propagation brings."""

    POPULARITY = 0
    RECENT = 1
    CONTENT = 2
    ATTRIBUTES = 3
    ADOPTERS = 4
    KNN_SLOW = 5
    KNN_FAST = 6
    LIFT_SESSION = 7
    LIFT_TASTE = 8
    PROFILE = 9


FEATURES = len(Feature)
PROPAGATED = (Feature.LIFT_SESSION, Feature.LIFT_TASTE, Feature.PROFILE)
RECENT_HALF_LIFE = 5_000.0
READ_ROUTERS = 32
KNN_FLOOR = 0.001


@njit(cache=True)
def unit(vector):
    norm = np.sqrt(np.sum(vector * vector))
    return vector / norm if norm > 0 else vector.copy()


@njit(cache=True)
def recent_popularity(state, item):
    age = state.clock[0] - state.recent_at[item]
    return state.recent[item] * 2.0 ** (-age / RECENT_HALF_LIFE)


@njit(cache=True)
def fill_features(state, user, items, out):
    """Write the features of `user` (a row, or -1 for one without history) and each of `items` into out [len, F]."""
    has_history = user >= 0 and state.history_length[user] > 0
    dim = state.content.shape[1]
    if has_history:
        content = unit(state.user_content[user])
        attributes = unit(state.user_attributes[user])
        gather_neighbours(state, user)
    else:
        content = np.zeros(dim, np.float32)
        attributes = np.zeros(dim, np.float32)
    session = routing_weights(state.session, user, READ_ROUTERS, state.seed) if has_history else None
    taste = routing_weights(state.taste, user, READ_ROUTERS, state.seed) if has_history else None
    profile = state.user_profile[user] if user >= 0 else np.zeros(dim, np.float32)
    for row in range(len(items)):
        item = items[row]
        out[row, 0] = np.log(state.adoptions[item] + 1.0)
        out[row, 1] = np.log(recent_popularity(state, item) + 0.2)
        out[row, 9] = np.dot(profile, state.item_profile[item])
        if session is None or taste is None:
            out[row, 2:9] = 0.0
            out[row, 5] = np.log(KNN_FLOOR)
            out[row, 6] = np.log(KNN_FLOOR)
            continue
        out[row, 2] = np.dot(content, state.content[item])
        out[row, 3] = np.dot(attributes, state.attributes[item])
        out[row, 4] = np.dot(content, state.adopters[item]) / (state.adoptions[item] + 2.0)
        out[row, 5] = np.log(KNN_FLOOR + state.near_slow[item])
        out[row, 6] = np.log(KNN_FLOOR + state.near_fast[item])
        out[row, 7] = reading(state.session, session, state, item)
        out[row, 8] = reading(state.taste, taste, state, item)
    if has_history:
        release_neighbours(state, user)
