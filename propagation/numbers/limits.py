"""Limits on what one client can do to the numbers.

They are user_mass_per_day and mass_min_support.

Source: docs/numbers.md, "Limits".
"""

import numpy as np
from numba import njit

LEAST_SUPPORT, MASS_A_DAY = range(2)
NO_LIMITS = (1.0, 0.0)


@njit(cache=True)
def has_few(adopted, limits):
    """Return whether so many adoptions are too few, so that an item's lifts count as 0."""
    return adopted < limits[LEAST_SUPPORT] and limits[LEAST_SUPPORT] > 1.0


@njit(cache=True)
def withheld(state, item):
    """Return whether too few distinct users adopted an item.

    Its lifts then count as 0. In a loop over the catalogue use `has_few`, which is not passed the
    whole state.
    """
    return has_few(state.adoptions[item], state.limits)


@njit(cache=True)
def allowed_mass(state, user, weight):
    """Return how much of its weight an adoption may write.

    It depends on the mass that the user wrote that day.
    """
    limit = state.limits[MASS_A_DAY]
    if limit <= 0.0:
        return weight
    spent = state.day_mass[user] if state.day[user] == state.today[0] else 0.0
    return min(weight, max(limit - spent, 0.0))


@njit(cache=True)
def spend_mass(state, user, weights):
    """Count the mass written to one bank on the user's day.

    Both banks get the same mass.
    """
    if state.limits[MASS_A_DAY] <= 0.0:
        return
    if state.day[user] != state.today[0]:
        state.day[user] = state.today[0]
        state.day_mass[user] = 0.0
    for place in range(len(weights)):
        state.day_mass[user] += np.float64(weights[place])
