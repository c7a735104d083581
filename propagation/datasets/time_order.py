"""Whether the times of a dataset's events order them."""

import numpy as np

from propagation.model import I64

MOST_AT_ONE_TIME = 0.5
"""A larger share of all events with one time is a placeholder, such as 0 for unknown."""
LEAST_STEPS_IN_TIME = 0.1
"""The least share of steps from one event of a user to the next that have another time.

MovieLens 100k, where users rate many films in a second, has about one half. Baskets of ten items
have a little more than a tenth.
"""


def find_order_problem(user: I64, time: I64) -> str:
    """Find out why times do not order the events of users.

    A few odd times among events that share one do not make an order, nor does one time for each
    user.

    Args:
        user: [E] rows of users.
        time: [E] milliseconds since 1970.

    Returns:
        The reason in words; "" if the times order the events.
    """
    events = len(time)
    if events < 2:
        return ""
    _, counts = np.unique(time, return_counts=True)
    most = int(counts.max())
    if most == events:
        return "all events have one time"
    if most > MOST_AT_ONE_TIME * events:
        return (
            f"{most:,} of {events:,} events have one and the same time; at most"
            f" {MOST_AT_ONE_TIME:.0%} may"
        )
    order = np.lexsort((time, user))
    is_step = user[order][1:] == user[order][:-1]
    moves = is_step & (time[order][1:] != time[order][:-1])
    steps, moved = int(is_step.sum()), int(moves.sum())
    if moved < LEAST_STEPS_IN_TIME * steps:
        return (
            f"of {steps:,} steps from one event of a user to the next, {moved:,} have another time;"
            f" at least {LEAST_STEPS_IN_TIME:.0%} must"
        )
    return ""
