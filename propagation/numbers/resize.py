"""Room in a state: capacities double, values stay."""

from typing import Any

import numpy as np

from propagation.numbers.evolve import retire_spare_rows
from propagation.numbers.rules.seen_items import rehash
from propagation.numbers.state import BY_ITEM, BY_USER, SEEN, Bank, State


def _doubled(needed: int, have: int) -> int:
    while have < needed:
        have *= 2
    return have


def _taller(array: np.ndarray, rows: int, fill: float = 0) -> np.ndarray:
    out = (
        np.full((rows, *array.shape[1:]), fill, array.dtype)
        if fill
        else np.zeros((rows, *array.shape[1:]), array.dtype)
    )
    out[: len(array)] = array
    return out


def with_room(state: State, users: int, items: int, more_seen: int) -> State:
    """Return the state with at least so many user and item rows, and places for more adoptions."""
    user_rows, item_rows = len(state.history), len(state.adoptions)
    if users > user_rows:
        rows = _doubled(users, user_rows)
        grown: dict[str, Any] = {
            name: _taller(getattr(state, name), rows, -1 if name == "seen_last" else 0)
            for name in BY_USER
        }
        state = state._replace(
            **grown, session=_with_users(state.session, rows), taste=_with_users(state.taste, rows)
        )
    if items > item_rows:
        rows = _doubled(items, item_rows)
        grown = {name: _taller(getattr(state, name), rows) for name in BY_ITEM}
        state = state._replace(
            **grown, session=_with_items(state.session, rows), taste=_with_items(state.taste, rows)
        )
    seen = int(state.clock[SEEN]) + more_seen
    if seen > len(state.seen_item):
        places = _doubled(seen, len(state.seen_item))
        state = state._replace(
            seen_item=_taller(state.seen_item, places),
            seen_before=_taller(state.seen_before, places),
            seen_router=_taller(state.seen_router, places),
            seen_set=rehash(state.seen_set, 2 * places),
        )
    return state


def _with_users(bank: Bank, rows: int) -> Bank:
    grown = bank._replace(trust=_taller(bank.trust, rows))
    retire_spare_rows(grown, len(bank.trust))
    return grown


def _with_items(bank: Bank, rows: int) -> Bank:
    return bank._replace(mass=_taller(bank.mass, rows))
