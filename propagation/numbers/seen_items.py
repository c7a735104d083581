"""The items that each user has had.

A hash set looks them up, and a linked list enumerates them.
"""

import numpy as np
from numba import njit

from propagation.numbers.kernels import kernel
from propagation.numbers.seeded_hash import mix_seed

EMPTY = -1


@kernel
def find_slot(table, key):
    """Return the slot of a key in a hash set.

    If the key is absent, it is the empty slot where the key belongs.
    """
    mask = len(table) - 1
    place = np.int64(mix_seed(np.uint64(key), np.uint64(0)) & np.uint64(mask))
    while table[place] != EMPTY and table[place] != key:
        place = (place + 1) & mask
    return place


@kernel
def has_seen(seen_set, user, item):
    """Return whether the user has had the item."""
    key = np.int64(user) << 32 | np.int64(item)
    return seen_set[find_slot(seen_set, key)] == key


@kernel
def add_key(table, key):
    """Add a key to a hash set that has room for it."""
    table[find_slot(table, key)] = key


@njit(inline="always")
def add_seen(state, user, item, session_router, taste_router, time):
    """Add an adoption and its main routers.

    Args:
        session_router: Router of the session bank that it wrote most to.
        taste_router: Router of the taste bank that it wrote most to.
        time: Seconds since 1970.
    """
    key = np.int64(user) << 32 | np.int64(item)
    state.seen_set[find_slot(state.seen_set, key)] = key
    place = state.clock[1]
    state.seen_item[place] = item
    state.seen_user[place] = user
    state.seen_time[place] = time
    state.seen_catalogue[place] = state.clock[3]
    state.seen_router[place, 0] = session_router
    state.seen_router[place, 1] = taste_router
    state.seen_before[place] = state.seen_last[user]
    state.seen_last[user] = place
    state.clock[1] += 1


@kernel
def list_seen_items(seen_item, seen_before, last):
    """Return the rows of a user's items, newest first.

    Args:
        last: The user's seen_last.
    """
    count = 0
    place = last
    while place >= 0:
        count += 1
        place = seen_before[place]
    items = np.empty(count, np.int64)
    place = last
    for row in range(count):
        items[row] = seen_item[place]
        place = seen_before[place]
    return items


@kernel
def rehash(old, size):
    """Return the same set in a table of another size.

    Args:
        size: Slots of the new table, a power of two.
    """
    table = np.full(size, EMPTY, np.int64)
    for key in old:
        if key != EMPTY:
            table[find_slot(table, key)] = key
    return table
