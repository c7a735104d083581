"""Whom a client's taste leads to: the largest routing weights of users, the largest lifts of items,
many clients at once."""

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
    """For clients at `rows` [n] (`users` [n] bool: a user's row, else an item's): routers [n,
    count], largest first, with their values [n, count] (of pi for users, of lift for items).
    NO_ROUTER fills what is left; BY_TEXT in the first place: nothing but the client's text may be
    read."""
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
    """The largest that are not retired."""
    filled = 0
    for place in np.argsort(-weights, kind="mergesort")[: len(routers)]:
        if state.taste.trust[0, chosen[place]] != -np.inf:
            routers[filled] = chosen[place]
            values[filled] = weights[place]
            filled += 1
