"""The controls: shuffled routers (placebo), routing by text, and point-to-point."""

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from propagation.evaluation.kernels.arms import Control
from propagation.numbers import Bank, State
from propagation.numbers.kernels import inner_kernel
from propagation.numbers.rules import (
    compute_readings,
    has_history,
    list_seen_items,
    multiply_rows,
    start_mass,
    write,
)

NEAREST_USERS = 50
POINT_FLOOR = 0.01
REACHED_SHARE = 0.1
Routers = tuple[NDArray[np.int64], NDArray[np.float64]]
PLACEBO_SESSION, PLACEBO_TASTE, SEMANTIC, POINT = (int(column) for column in Control)


class Controls(NamedTuple):
    """Arrays of the controls, for U users, I items and K routers.

    Args:
        shuffled_session: [U,K] each user's own order of the routers.
        shuffled_taste: [U,K] likewise.
        semantic: A bank without trust, whose mass goes to `home`.
        home: [I] the centre nearest to the item's embedding (eq. 2).
        one: [1] f32: that adoption as a whole.
        norms: [U] lengths of the users' sums of embeddings.
        tau: Threshold on the cosine (eq. 4); NaN is its .90 quantile.
    """

    shuffled_session: NDArray[np.int64]
    shuffled_taste: NDArray[np.int64]
    semantic: Bank
    home: NDArray[np.int64]
    one: NDArray[np.float32]
    norms: NDArray[np.float64]
    tau: float


def create_controls(
    state: State, users: int, items: int, seed: int, tau: float | None = None
) -> Controls:
    """Make the controls of an empty state.

    Args:
        seed: Of the shuffled routers.
        tau: Of the semantic arm; None is the .90 quantile.
    """
    rng = np.random.default_rng(seed)
    centres = state.taste.centres
    bank = Bank(
        np.zeros((items, len(centres)), np.float32),
        np.zeros(len(centres)),
        np.zeros((1, len(centres)), np.float32),
        centres,
        state.taste.discount,
        state.taste.sharpness,
    )
    for item in range(items):
        start_mass(bank, item, state.content[item])
    home = np.argmax(state.content[:items] @ centres.T, axis=1)
    return Controls(
        _draw_shuffles(rng, users, len(state.session.centres)),
        _draw_shuffles(rng, users, len(centres)),
        bank,
        home,
        np.ones(1, np.float32),
        np.zeros(users),
        np.nan if tau is None else tau,
    )


def _draw_shuffles(rng: np.random.Generator, users: int, k: int) -> NDArray[np.int64]:
    return rng.permuted(np.tile(np.arange(k), (users, 1)), axis=1)


@inner_kernel
def _find_reached(bank, content, tau):
    """Return the routers above tau (eq. 4) in equal parts.

    Without a tau these are the nearest tenth: tau at the .90 quantile.
    """
    cosines = bank.centres @ content
    routers = np.argsort(-cosines)
    count = (
        max(2, np.int64(REACHED_SHARE * len(cosines))) if np.isnan(tau) else np.sum(cosines > tau)
    )
    return routers[:count], np.full(count, 1.0 / max(count, 1))


@inner_kernel
def _rank_point_to_point(
    user_content, seen_item, seen_before, seen_last, norms, user, content, near
):
    """Score each item by the nearest users who have it.

    score = cosines of those of the 50 nearest users who have the item, summed, divided by the sum
    of all 50.

    Args:
        near: [I] f32, filled here.
    """
    near[:] = 0.0
    cosines = np.empty(len(norms), np.float32)
    multiply_rows(user_content, np.arange(len(norms)), content, cosines)
    for other in range(len(norms)):
        norm = norms[other]
        cosines[other] = cosines[other] / norm if norm > 0 and other != user else -1.0
    nearest = np.argsort(-cosines)[:NEAREST_USERS]
    total = np.float32(1e-6)
    for other in nearest:
        total += max(cosines[other], np.float32(0))
    for other in nearest:
        if cosines[other] > 0:
            for item in list_seen_items(seen_item, seen_before, seen_last[other]):
                near[item] += cosines[other] / total


@njit(inline="always")
def find_control_routers(state, controls, standpoint, user, near):
    """Return what the controls read for a user: routers and their weights.

    Without history there are none.

    Args:
        near: [I] f32, filled with what the nearest users have.

    Returns:
        (routers, weights) of the shuffled session, the shuffled taste, and the semantic bank.
    """
    reached = (np.empty(0, np.int64), np.empty(0, np.float64))
    if has_history(state.history_length, user):
        reached = _find_reached(controls.semantic, standpoint.content, controls.tau)
        _rank_point_to_point(
            state.user_content,
            state.seen_item,
            state.seen_before,
            state.seen_last,
            controls.norms,
            user,
            standpoint.content,
            near,
        )
    else:
        near[:] = 0.0
    return (
        (controls.shuffled_session[user][standpoint.session[0]], standpoint.session[1]),
        (controls.shuffled_taste[user][standpoint.taste[0]], standpoint.taste[1]),
        reached,
    )


@njit(inline="always")
def fill_controls(state, controls, routers, near, items, out):
    """Fill the controls' columns of out [len, COLUMNS], from `find_control_routers`."""
    out[:, PLACEBO_SESSION:] = 0.0
    session, taste, reached = routers
    adoptions, totals = state.adoptions, state.totals
    if len(session[0]) > 0:
        compute_readings(state.session, session, adoptions, totals, items, out[:, PLACEBO_SESSION])
        compute_readings(state.taste, taste, adoptions, totals, items, out[:, PLACEBO_TASTE])
    if len(reached[0]) > 0:
        compute_readings(controls.semantic, reached, adoptions, totals, items, out[:, SEMANTIC])
    for row in range(len(items)):
        out[row, POINT] = np.log(POINT_FLOOR + near[items[row]])


@njit(inline="always")
def follow_controls(state, controls, user, item, is_new):
    """Update the controls after an event.

    An adoption reaches one router by text (eq. 2).
    """
    if is_new:
        write(controls.semantic, item, controls.home[item : item + 1], controls.one)
    controls.norms[user] = np.sqrt(np.sum(state.user_content[user] ** 2))
