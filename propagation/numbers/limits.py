"""Limits on what one client can do to the numbers.

They are user_mass_per_day and mass_min_support.

Source: docs/numbers.md, "Limits".
"""

import numpy as np

from propagation.numbers.kernels import kernel

LEAST_SUPPORT, MASS_A_DAY = range(2)
NO_LIMITS = (1.0, 0.0)


@kernel
def is_withheld(adopted, limits):
    """Return whether an item has too few adopters: its lifts are 0."""
    return adopted < limits[LEAST_SUPPORT] and limits[LEAST_SUPPORT] > 1.0


@kernel
def limit_weight(day, day_mass, today, limits, user, weight):
    """Return how much of its weight an adoption may write.

    It depends on the mass that the user wrote that day.
    """
    limit = limits[MASS_A_DAY]
    if limit <= 0.0:
        return weight
    spent = day_mass[user] if day[user] == today[0] else 0.0
    return min(weight, max(limit - spent, 0.0))


@kernel
def spend_mass(day, day_mass, today, limits, user, weights):
    """Add written mass to the user's total of the day.

    It is that of one bank: both get the same mass.
    """
    if limits[MASS_A_DAY] <= 0.0:
        return
    if day[user] != today[0]:
        day[user] = today[0]
        day_mass[user] = 0.0
    for place in range(len(weights)):
        day_mass[user] += np.float64(weights[place])
