"""Arrays of a state, in memory and in checkpoints.

Capacities double in memory, and checkpoints store no empty places.
"""

from typing import Any

import numpy as np

from propagation.numbers.evolved_bank import retire_spare_rows
from propagation.numbers.factors import with_item_rows, with_user_rows
from propagation.numbers.kernels import kernel
from propagation.numbers.rules import add_key, rehash
from propagation.numbers.state import BY_ITEM, BY_SEEN, BY_USER, SEEN, Bank, State


def _compute_capacity(needed: int, have: int) -> int:
    while have < needed:
        have *= 2
    return have


def _grow_rows(array: np.ndarray, rows: int, fill: float = 0) -> np.ndarray:
    out = (
        np.full((rows, *array.shape[1:]), fill, array.dtype)
        if fill
        else np.zeros((rows, *array.shape[1:]), array.dtype)
    )
    out[: len(array)] = array
    return out


def with_room(
    state: State, users: int, items: int, more_seen: int, *, filled: bool = False
) -> State:
    """Return the state with room for more users, items and adoptions.

    Args:
        users: User rows that it has at least.
        items: Item rows that it has at least.
        more_seen: More adoptions that it has places for.
        filled: Whether the caller fills the factors of all these users and items.
    """
    user_rows, item_rows = len(state.history), len(state.adoptions)
    if users > user_rows:
        rows = _compute_capacity(users, user_rows)
        grown: dict[str, Any] = {
            name: _grow_rows(getattr(state, name), rows, -1 if name == "seen_last" else 0)
            for name in BY_USER
        }
        state = state._replace(
            **grown,
            session=_with_users(state.session, rows),
            taste=_with_users(state.taste, rows),
            factors=with_user_rows(state.factors, rows, state.seed, users if filled else 0),
        )
    if items > item_rows:
        rows = _compute_capacity(items, item_rows)
        grown = {name: _grow_rows(getattr(state, name), rows) for name in BY_ITEM}
        state = state._replace(
            **grown,
            session=_with_items(state.session, rows),
            taste=_with_items(state.taste, rows),
            factors=with_item_rows(state.factors, rows, state.seed, items if filled else 0),
        )
    seen = int(state.clock[SEEN]) + more_seen
    if seen > len(state.seen_item):
        places = _compute_capacity(seen, len(state.seen_item))
        grown = {name: _grow_rows(getattr(state, name), places) for name in BY_SEEN}
        state = state._replace(**grown, seen_set=rehash(state.seen_set, 2 * places))
    return state


def _with_users(bank: Bank, rows: int) -> Bank:
    grown = bank._replace(trust=_grow_rows(bank.trust, rows))
    retire_spare_rows(grown, len(bank.trust))
    return grown


def _with_items(bank: Bank, rows: int) -> Bank:
    return bank._replace(mass=_grow_rows(bank.mass, rows))


@kernel(nogil=True)
def pack_neighbours(neighbour, together, counts):
    """Return the used places of every item, one item after another.

    They are the values of a CSR matrix.

    Args:
        counts: [I] places that item i uses.
    """
    size = np.sum(counts.astype(np.int64))
    items = np.empty(size, np.int32)
    weights = np.empty(size, np.float32)
    start = 0
    for row in range(len(counts)):
        end = start + counts[row]
        items[start:end] = neighbour[row, : counts[row]]
        weights[start:end] = together[row, : counts[row]]
        start = end
    return items, weights


@kernel(nogil=True)
def unpack_neighbours(items, weights, counts, neighbour, together):
    """Fill neighbour and together [I,384] from the result of `pack_neighbours`."""
    start = 0
    for row in range(len(counts)):
        end = start + counts[row]
        neighbour[row, : counts[row]] = items[start:end]
        together[row, : counts[row]] = weights[start:end]
        start = end


@kernel(nogil=True)
def refill_seen(seen_set, seen_last, seen_item, seen_before):
    """Fill an empty hash set from the users' linked lists."""
    for user in range(len(seen_last)):
        place = seen_last[user]
        while place >= 0:
            add_key(seen_set, np.int64(user) << 32 | np.int64(seen_item[place]))
            place = seen_before[place]
