"""The taste bank, rewound to an earlier interaction and run forward again.

The judge needs it.

Only rows that an evolution touches are read: mass and trust of the taste routers, and counts of
adopters. Everything else is equal before and after an evolution.

Source: docs/evolution.md.
"""

from typing import NamedTuple

import numpy as np

from propagation.arrays import F64, I64
from propagation.numbers.kernels import inner_kernel, kernel
from propagation.numbers.limits import is_withheld
from propagation.numbers.rules import (
    LIFT_CLIP,
    READ_ROUTERS,
    compute_lift,
    compute_maturity,
    find_adopter_bin,
    find_softmax_largest,
    share_of,
)

# Taking trust back divides it by the discount each time, and its rounding with it: by 96 in 150 of
# a user's interactions.
MOST_BACK = 150


class HoldoutEvents(NamedTuple):
    """H interactions in order.

    Args:
        user: [H] as places in Tastes; likewise positive, and negative with -1 for none.
        weight: [H].
        routers: [H,W] routers that each wrote to, by their present numbers.
        written: [H,W] the mass; all zero for a repeat.
    """

    user: I64
    positive: I64
    negative: I64
    weight: F64
    routers: I64
    written: F64


class Tastes(NamedTuple):
    """The part of a taste bank that a holdout needs.

    It has M items and V users.

    Args:
        mass: [M,K]; total [K]; trust [V,K].
        adoptions: [M].
        totals: [2] adoptions, items.
        history: [V] interactions.
        rows: [V] the users' rows in the state, for ties.
        limits: [2] as in State.
    """

    mass: F64
    total: F64
    trust: F64
    adoptions: F64
    totals: F64
    history: I64
    rows: I64
    discount: float
    sharpness: float
    limits: F64
    seed: np.uint64


def copy_tastes(tastes: Tastes) -> Tastes:
    """Return a copy that may be changed."""
    return tastes._replace(
        mass=tastes.mass.copy(),
        total=tastes.total.copy(),
        trust=tastes.trust.copy(),
        adoptions=tastes.adoptions.copy(),
        totals=tastes.totals.copy(),
        history=tastes.history.copy(),
    )


@inner_kernel
def _increment(tastes, item, router, share, weight):
    if is_withheld(tastes.adoptions[item], tastes.limits):
        return 0.0
    here = compute_lift(tastes.mass[item, router], tastes.total[router], share)
    return weight * min(max(here, -LIFT_CLIP), LIFT_CLIP)


@kernel(nogil=True)
def rewind(tastes, events, known):
    """Take all events back, the last one first.

    Args:
        known: [H] filled with whether the user's trust is exact from this event on.
    """
    back = np.zeros(len(tastes.history), np.int64)
    for event in range(len(events.user) - 1, -1, -1):
        user, item = events.user[event], events.positive[event]
        if events.written[event].sum() > 0:
            for place in range(events.routers.shape[1]):
                router = events.routers[event, place]
                tastes.mass[item, router] = max(
                    tastes.mass[item, router] - events.written[event, place], 0.0
                )
                tastes.total[router] -= events.written[event, place]
            tastes.adoptions[item] -= 1.0
            tastes.totals[0] -= 1.0
        tastes.history[user] -= 1
        back[user] += 1
        known[event] = back[user] <= MOST_BACK
        if known[event]:
            share = share_of(tastes.adoptions[item], tastes.totals)
            for router in range(len(tastes.total)):
                increment = _increment(tastes, item, router, share, events.weight[event])
                tastes.trust[user, router] = (
                    tastes.trust[user, router] - increment
                ) / tastes.discount


@inner_kernel
def _compute_reading(tastes, routers, values, item):
    if is_withheld(tastes.adoptions[item], tastes.limits):
        return 0.0
    share = share_of(tastes.adoptions[item], tastes.totals)
    total = 0.0
    for place in range(len(routers)):
        router = routers[place]
        if values[place] > 0.0:
            here = compute_lift(tastes.mass[item, router], tastes.total[router], share)
            total += values[place] * np.exp(here)
    return np.log(total)


@kernel
def _learn(tastes, event, events, known):
    """Apply rules 4 and 5 and the counts of one event."""
    user, item = events.user[event], events.positive[event]
    share = share_of(tastes.adoptions[item], tastes.totals)
    if known:
        for router in range(len(tastes.total)):
            increment = _increment(tastes, item, router, share, events.weight[event])
            tastes.trust[user, router] = tastes.discount * tastes.trust[user, router] + increment
    tastes.history[user] += 1
    mass = events.written[event].sum()
    if mass > 0:
        routers, values = find_softmax_largest(
            tastes.sharpness * tastes.trust[user],
            events.routers.shape[1],
            tastes.rows[user],
            tastes.seed,
        )
        for place in range(len(routers)):
            tastes.mass[item, routers[place]] += mass * values[place]
            tastes.total[routers[place]] += mass * values[place]
        tastes.adoptions[item] += 1.0
        tastes.totals[0] += 1.0


@kernel(nogil=True)
def replay_events(tastes, events, known, readings, bins):
    """Predict, then learn, each event.

    Args:
        readings: [H,2] filled with s(u,i) of positive and negative; 0 without history.
        bins: [H,3] i64 filled with the bins of rule 3: of the user and of the two items.
    """
    for event in range(len(events.user)):
        user, positive, negative = (
            events.user[event],
            events.positive[event],
            events.negative[event],
        )
        bins[event, 0] = compute_maturity(tastes.history[user])
        bins[event, 1] = find_adopter_bin(tastes.adoptions[positive])
        readings[event] = 0.0
        if negative >= 0:
            bins[event, 2] = find_adopter_bin(tastes.adoptions[negative])
            if tastes.history[user] > 0:
                routers, values = find_softmax_largest(
                    tastes.sharpness * tastes.trust[user],
                    READ_ROUTERS,
                    tastes.rows[user],
                    tastes.seed,
                )
                readings[event, 0] = _compute_reading(tastes, routers, values, positive)
                readings[event, 1] = _compute_reading(tastes, routers, values, negative)
        _learn(tastes, event, events, known[event])


@kernel(nogil=True)
def rewind_content(vectors, users, contents, decay, most):
    """Take users' decayed sums of embeddings [V,D] f64 back by events.

    Args:
        users: [H].
        contents: [H,D] embeddings of the events' items.
    """
    back = np.zeros(len(vectors), np.int64)
    for event in range(len(users) - 1, -1, -1):
        user = users[event]
        back[user] += 1
        if back[user] <= most:
            for column in range(vectors.shape[1]):
                vectors[user, column] = (vectors[user, column] - contents[event, column]) / decay
