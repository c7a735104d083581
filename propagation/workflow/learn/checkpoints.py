"""Checkpoints of the numbers view, patches of them, and the restored view.

A checkpoint has only the rows in use, the neighbours as a CSR matrix, and nothing that can be
derived.

A patch has the rows that changed since the arrays were written. With patches the arrays can be
written while learning goes on, and little is left to write while learning is suspended. In a patch
`NAME@rows` [n] i64 and `NAME@values` [n, ...] replace or append rows of the array NAME;
`NAME@whole` replaces all of it.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace

import numpy as np

from propagation.model import I64, Array, Bools, Checkpoint, DamagedNumbers
from propagation.numbers import (
    BY_ITEM,
    BY_SEEN,
    BY_USER,
    ITEM_TABLES,
    NO_LIMITS,
    SEEN,
    Bank,
    build_settings,
    pack_neighbours,
    refill_seen,
    retire_spare_rows,
    unpack_neighbours,
    with_room,
)
from propagation.numbers.rules import pack_combiner, unpack
from propagation.workflow.views import NumbersView

ROWS, VALUES, WHOLE = "@rows", "@values", "@whole"
BANKS = ("session", "taste")
COUNTED = ("clock", "totals")
SCRATCH = ("near_slow", "near_fast")
NEIGHBOURS = ("neighbour", "together")
# Profiles are not learned; they come from texts, by way of the vector index.
PROFILES = ("user_profile", "item_profile")
# Arrays in which a withdrawal changes only the rows of its own users and items.
FACTORS_OF_ITEMS = tuple(f"factors.{name}" for name in ITEM_TABLES)
OWN_OF_USERS = (
    "user_content",
    "user_attributes",
    "history",
    "history_time",
    "session.trust",
    "taste.trust",
    "factors.taste",
)
OWN_OF_ITEMS = ("content", "attributes", "session.mass", "taste.mass", *FACTORS_OF_ITEMS)
PACKED = ("near_items", "near_weights", "combiner")
ITEM_ROWS = tuple(name for name in BY_ITEM if name not in (*SCRATCH, *NEIGHBOURS, *PROFILES))
USER_ROWS = tuple(name for name in BY_USER if name not in PROFILES)
Arrays = dict[str, Array]


def make_patch(before: Mapping[str, Array], now: Mapping[str, Array]) -> Arrays:
    """Return the patch that turns `before` into `now`.

    An array that `before` lacks is in the patch whole, under its own name.
    """
    patch = {name: array for name, array in now.items() if name not in before}
    for name in before:
        patch |= _find_changed_rows(name, before[name], now[name])
    return patch


def apply_patch(arrays: Arrays) -> Arrays:
    """Apply a patch to the arrays stored with it, in place.

    Entries are taken out one by one, so that hardly more than one copy is in memory.

    Args:
        arrays: The old arrays, and what `make_patch` returned, in one dict.

    Returns:
        The same dict, with the patched arrays only.
    """
    for key in [key for key in arrays if key.endswith(WHOLE)]:
        arrays[key.removesuffix(WHOLE)] = arrays.pop(key)
    for key in [key for key in arrays if key.endswith(ROWS)]:
        name = key.removesuffix(ROWS)
        rows, values = np.asarray(arrays.pop(key), np.int64), arrays.pop(name + VALUES)
        arrays[name] = _with_rows(arrays[name], rows, values)
    return arrays


def _find_changed_rows(name: str, before: Array, now: Array) -> Arrays:
    if before.shape[1:] != now.shape[1:] or before.dtype != now.dtype or len(now) < len(before):
        return {name + WHOLE: now}
    changed = np.ones(len(now), np.bool_)
    changed[: len(before)] = _differ(before, now[: len(before)])
    rows = np.flatnonzero(changed)
    if 2 * len(rows) > len(now):
        return {name + WHOLE: now}
    return {name + ROWS: rows, name + VALUES: now[rows]} if len(rows) else {}


def _differ(one: Array, other: Array) -> Bools:
    """Return for each row whether any bit differs, [n]."""
    differs = _view_bits(one) != _view_bits(other)
    found: Bools = differs.any(axis=tuple(range(1, differs.ndim)))
    return found


def _view_bits(array: Array) -> Array:
    return np.ascontiguousarray(array).view(f"u{array.dtype.itemsize}")


def _with_rows(array: Array, rows: I64, values: Array) -> Array:
    added = int(rows[-1]) + 1 - len(array)
    if added > 0:
        array = np.concatenate([array, np.empty((added, *array.shape[1:]), array.dtype)])
    array[rows] = values
    return array


def take_checkpoint(view: NumbersView, barrier: bool) -> Checkpoint:
    """Copy everything that was learned.

    Run it on the thread that owns the view.
    """
    found = borrow_checkpoint(view, barrier)
    return replace(
        found,
        arrays={
            name: array if name in PACKED else array.copy() for name, array in found.arrays.items()
        },
    )


def borrow_checkpoint(view: NumbersView, barrier: bool) -> Checkpoint:
    """Return a checkpoint that shares the view's arrays.

    It is valid until the next step of learning.
    """
    state, users, items = view.state, view.users, view.items
    arrays: Arrays = {name: getattr(state, name) for name in COUNTED}
    for names, rows in ((ITEM_ROWS, items), (USER_ROWS, users), (BY_SEEN, int(state.clock[SEEN]))):
        arrays |= {name: getattr(state, name)[:rows] for name in names}
    arrays["near_items"], arrays["near_weights"] = pack_neighbours(
        state.neighbour, state.together, state.neighbour_count[:items]
    )
    for name in BANKS:
        bank: Bank = getattr(state, name)
        arrays |= {
            f"{name}.mass": bank.mass[:items],
            f"{name}.trust": bank.trust[:users],
            f"{name}.total": bank.total,
            f"{name}.centres": bank.centres,
        }
    factors = state.factors
    arrays |= {f"factors.{name}": getattr(factors, name)[:items] for name in ITEM_TABLES}
    arrays |= {
        "factors.taste": factors.taste[:users],
        "factors.plan": factors.plan,
        "factors.skipped": factors.skipped,
        "factors.withdrawn": factors.withdrawn,
    }
    arrays["combiner"] = pack_combiner(view.combiner)
    return Checkpoint(
        sequence=view.applied_through, epoch=view.epoch, barrier=barrier, arrays=arrays
    )


def borrow_own_rows(view: NumbersView) -> Checkpoint:
    """Borrow the arrays in which a withdrawal changes only its clients' rows.

    They can be stored before the withdrawal changes the numbers; `borrow_remainder` returns the
    rest.
    """
    found = borrow_checkpoint(view, barrier=True)
    return replace(
        found, arrays={name: found.arrays[name] for name in (*OWN_OF_USERS, *OWN_OF_ITEMS)}
    )


def borrow_remainder(view: NumbersView, users: Iterable[int], items: Iterable[int]) -> Checkpoint:
    """Borrow what remains to be stored after `borrow_own_rows` and a withdrawal.

    Of the arrays that `borrow_own_rows` returned, only the rows that the withdrawal changed remain;
    all other arrays remain as a whole.

    Args:
        users: Rows of the users whose events were withdrawn.
        items: Rows of their items.
    """
    found = borrow_checkpoint(view, barrier=True)
    for names, known, given in (
        (OWN_OF_USERS, view.users, users),
        (OWN_OF_ITEMS, view.items, items),
    ):
        rows = np.array(sorted(row for row in set(given) if row < known), np.int64)
        for name in names:
            array = found.arrays.pop(name)
            if len(rows):
                found.arrays.update({name + ROWS: rows, name + VALUES: array[rows]})
    return found


def restore_view(
    checkpoint: Checkpoint, seed: int, limits: tuple[float, float] = NO_LIMITS
) -> NumbersView:
    """Restore the view from a checkpoint.

    The checkpoint's arrays are taken out one by one, so that hardly more than one copy is in
    memory.

    Raises:
        DamagedNumbers: The checkpoint lacks an array.
    """
    try:
        return _restore(checkpoint, seed, limits)
    except KeyError as lacking:
        raise DamagedNumbers(
            f"the checkpoint of the numbers at sequence {checkpoint.sequence} lacks"
            f" {lacking.args[0]}"
        ) from lacking


def _restore(checkpoint: Checkpoint, seed: int, limits: tuple[float, float]) -> NumbersView:
    arrays = apply_patch(checkpoint.arrays)
    view = NumbersView(
        np.asarray(arrays.pop("session.centres"), np.float32),
        np.asarray(arrays.pop("taste.centres"), np.float32),
        seed,
        checkpoint.epoch,
        limits,
        build_settings(
            arrays["factors.target"], arrays["factors.taste"], np.asarray(arrays["factors.plan"])
        ),
    )
    view.state = with_room(
        view.state,
        len(arrays["seen_last"]),
        len(arrays["adoptions"]),
        len(arrays["seen_item"]),
        filled=True,
    )
    state = view.state
    if "present" not in arrays:
        # An earlier version wrote it. There removed items have no vector, and factors drew them,
        # so that they have to be learned again.
        arrays["present"] = np.asarray(arrays["content"].any(axis=1))
        arrays["factors.withdrawn"] = arrays["factors.withdrawn"] + np.sum(~arrays["present"])
    for name in (*COUNTED, *ITEM_ROWS, *USER_ROWS, *BY_SEEN):
        _fill(getattr(state, name), arrays.pop(name))
    unpack_neighbours(
        arrays.pop("near_items"),
        arrays.pop("near_weights"),
        state.neighbour_count[: view.items],
        state.neighbour,
        state.together,
    )
    refill_seen(state.seen_set, state.seen_last[: view.users], state.seen_item, state.seen_before)
    for name in BANKS:
        for part in ("mass", "trust", "total"):
            _fill(getattr(getattr(state, name), part), arrays.pop(f"{name}.{part}"))
        retire_spare_rows(getattr(state, name), view.users)
    for name in (*ITEM_TABLES, "taste", "plan", "skipped", "withdrawn"):
        _fill(getattr(state.factors, name), arrays.pop(f"factors.{name}"))
    unpack(view.combiner, np.asarray(arrays.pop("combiner"), np.float64))
    # Erased items have no vector. Older checkpoints count them, too.
    state.totals[1] = np.count_nonzero(state.content[: view.items].any(axis=1))
    view.applied_through = checkpoint.sequence
    return view


def _fill(places: Array, values: Array) -> None:
    places[: len(values)] = values
