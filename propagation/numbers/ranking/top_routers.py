"""Routers of many clients at once: largest routing weights of users, largest lifts of items."""

import numpy as np
from numba import njit

from propagation.numbers.limits import withheld
from propagation.numbers.rules.features import READ_ROUTERS
from propagation.numbers.rules.mass import lifts, share
from propagation.numbers.rules.trust import largest, routing_weights
from propagation.numbers.state import ITEMS, USERS

NO_ROUTER, BY_TEXT = -1, -2


@njit(cache=True, nogil=True)
def taste_rows(state, rows, users, refs, count, routers, values):
    """Return the largest taste routers of each client.

    Args:
        rows: [n] of users or items.
        users: [n] bool: a user's row, else an item's.

    Returns:
        Routers [n, count], largest first, and their values [n, count]: pi of users, lift of
        items. NO_ROUTER fills empty places. BY_TEXT in the first place: only the client's text
        may be read.
    """
    for place in range(len(rows)):
        routers[place] = NO_ROUTER
        row = rows[place]
        if users[place]:
            if row < state.clock[USERS] and not state.history_length[row]:
                routers[place, 0] = BY_TEXT
            elif row < state.clock[USERS]:
                chosen, weights = routing_weights(state.taste, row, READ_ROUTERS, state.seed)
                _put(state, chosen, weights, routers[place], values[place])
        elif row < state.clock[ITEMS]:
            if withheld(state, row):
                routers[place, 0] = BY_TEXT
                continue
            row_lifts = np.empty(state.taste.mass.shape[1])
            lifts(state.taste, share(state, row), row, row_lifts)
            for router in range(len(row_lifts)):
                if state.taste.trust[0, router] == -np.inf:
                    row_lifts[router] = -np.inf
            chosen = largest(row_lifts, min(count, len(row_lifts)), refs[place], state.seed)
            _put(state, chosen, row_lifts[chosen], routers[place], values[place])


@njit(cache=True)
def _put(state, chosen, weights, routers, values):
    """Write the largest routers that are not retired."""
    filled = 0
    for place in np.argsort(-weights, kind="mergesort")[: len(routers)]:
        if state.taste.trust[0, chosen[place]] != -np.inf:
            routers[filled] = chosen[place]
            values[filled] = weights[place]
            filled += 1
