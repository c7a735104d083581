"""The features of (user, item) pairs, one column each (docs/numbers.md, rule 3)."""

from enum import IntEnum
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from propagation.numbers.factors import compute_history_vector, list_history
from propagation.numbers.kernels import inner_kernel, kernel
from propagation.numbers.limits import is_withheld
from propagation.numbers.products import multiply_rows
from propagation.numbers.rules.mass import compute_readings
from propagation.numbers.rules.neighbours import (
    compute_nearness,
    look_up_neighbours,
    release_neighbours,
)
from propagation.numbers.rules.trust import compute_routing_weights


class Feature(IntEnum):
    """Columns of the feature matrix; LIFT_* and PROFILE are those of propagation."""

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
    HISTORY = 10
    TASTE = 11


class Standpoint(NamedTuple):
    """The user's part of every feature.

    Args:
        content: Unit vector [D] f32; likewise attributes.
        profile: [D] f32 vector of the profile.
        session: Routers and their weights pi; empty without history (the lift is 0 then).
        taste: Likewise.
        history: x [h] f32 of the history factor; `vector` V_u [t] f32. Zeros without history.
    """

    content: NDArray[np.float32]
    attributes: NDArray[np.float32]
    profile: NDArray[np.float32]
    session: tuple[NDArray[np.int64], NDArray[np.float64]]
    taste: tuple[NDArray[np.int64], NDArray[np.float64]]
    history: NDArray[np.float32]
    vector: NDArray[np.float32]


FEATURES = len(Feature)
PROPAGATED = (Feature.LIFT_SESSION, Feature.LIFT_TASTE, Feature.PROFILE)
RECENT_HALF_LIFE = 5_000.0
RECENT_FLOOR = 0.2
READ_ROUTERS = 32
KNN_FLOOR = 0.01


@kernel
def normalize_vector(vector):
    """Return the vector at length 1; zeros stay zeros."""
    norm = np.sqrt(np.sum(vector * vector))
    return vector / norm if norm > 0 else vector.copy()


@kernel
def decay_count(count, age):
    """Return a count as it is `age` events later.

    An item's recent adoptions fade so, with a half-life of 5,000 events.
    """
    return count * np.exp(-(np.log(2.0) / RECENT_HALF_LIFE) * age)


@kernel
def has_history(history_length, user):
    """Return whether the user (a row, or -1) has any interaction."""
    return user >= 0 and history_length[user] > 0


@kernel
def compute_standpoint(state, user, now):
    """Return the standpoint of a user.

    Without history it has zeros and no routers.

    Args:
        user: A row, or -1.
        now: Seconds since 1970.
    """
    dim, factors = state.content.shape[1], state.factors
    profile = state.user_profile[user].copy() if user >= 0 else np.zeros(dim, np.float32)
    if not has_history(state.history_length, user):
        nothing = (np.empty(0, np.int64), np.empty(0, np.float64))
        return Standpoint(
            np.zeros(dim, np.float32),
            np.zeros(dim, np.float32),
            profile,
            nothing,
            nothing,
            np.zeros(factors.target.shape[1], np.float32),
            np.zeros(factors.taste.shape[1], np.float32),
        )
    history = np.zeros(0, np.float32)
    if factors.target.shape[1] > 0:
        items, shares = list_history(
            state.seen_item, state.seen_time, state.seen_before, state.seen_last[user], now
        )
        history = compute_history_vector(factors.long, factors.now, items, shares)
    return Standpoint(
        normalize_vector(state.user_content[user]),
        normalize_vector(state.user_attributes[user]),
        profile,
        compute_routing_weights(state.session, user, READ_ROUTERS, state.seed),
        compute_routing_weights(state.taste, user, READ_ROUTERS, state.seed),
        history,
        factors.taste[user].copy(),
    )


@kernel
def fill_from(state, standpoint, items, out):
    """Write the features of `items`, read from `standpoint`, into out.

    The kNN columns are read from the scratch rows near_slow and near_fast: zeros, unless the caller
    gathered a user's neighbours.

    Args:
        out: [len,F], filled.
    """
    _fill_counts(state.adoptions, state.recent, state.recent_at, state.clock[0], items, out)
    _fill_near(state.near_slow, state.near_fast, state.adoptions, items, out)
    multiply_rows(state.content, items, standpoint.content, out[:, 2])
    multiply_rows(state.attributes, items, standpoint.attributes, out[:, 3])
    multiply_rows(state.adopters, items, standpoint.content, out[:, 4])
    multiply_rows(state.item_profile, items, standpoint.profile, out[:, 9])
    multiply_rows(state.factors.target, items, standpoint.history, out[:, 10])
    multiply_rows(state.factors.liked, items, standpoint.vector, out[:, 11])
    for row in range(len(items)):
        out[row, 4] /= state.adoptions[items[row]] + 2.0
    out[:, 7:9] = 0.0
    if len(standpoint.session[0]) > 0:
        compute_readings(
            state.session, standpoint.session, state.adoptions, state.totals, items, out[:, 7]
        )
        compute_readings(
            state.taste, standpoint.taste, state.adoptions, state.totals, items, out[:, 8]
        )
        adoptions, limits = state.adoptions, state.limits
        for row in range(len(items)):
            if is_withheld(adoptions[items[row]], limits):
                out[row, 7:9] = 0.0


@inner_kernel
def _fill_counts(adoptions, recent, recent_at, now, items, out):
    for row in range(len(items)):
        item = items[row]
        out[row, 0] = np.log(adoptions[item] + 1.0)
        out[row, 1] = np.log(decay_count(recent[item], now - recent_at[item]) + RECENT_FLOOR)


@inner_kernel
def _fill_near(near_slow, near_fast, adoptions, items, out):
    for row in range(len(items)):
        item = items[row]
        out[row, 5] = np.log(KNN_FLOOR + compute_nearness(near_slow[item], adoptions[item]))
        out[row, 6] = np.log(KNN_FLOOR + compute_nearness(near_fast[item], adoptions[item]))


@njit(inline="always")
def fill_features(state, user, items, now, out):
    """Write the features of a user and a few items into out.

    Args:
        user: A row, or -1.
        now: Seconds since 1970.
        out: [len,F], filled.
    """
    if has_history(state.history_length, user):
        look_up_neighbours(state, user, items, now)
    fill_from(state, compute_standpoint(state, user, now), items, out)
    release_neighbours(state.near_slow, state.near_fast, items)
