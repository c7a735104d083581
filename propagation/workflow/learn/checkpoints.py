"""Checkpoints of the numbers view, and the view that a checkpoint restores.

A checkpoint has the used rows only, neighbours as a CSR matrix, and nothing that can be derived.
"""

from collections.abc import Iterable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from propagation.model import Checkpoint, StoreCorrupt
from propagation.numbers.csr_packing import packed_neighbours, refill_seen, unpack_neighbours
from propagation.numbers.evolve import retire_spare_rows
from propagation.numbers.limits import NO_LIMITS
from propagation.numbers.resize import with_room
from propagation.numbers.rules.combiner import packed, unpack
from propagation.numbers.state import BY_ITEM, BY_SEEN, BY_USER, SEEN, Bank
from propagation.workflow.learn.checkpoint_patch import ROWS, VALUES, apply_patch
from propagation.workflow.views import NumbersView

BANKS = ("session", "taste")
COUNTED = ("clock", "totals")
SCRATCH = ("near_slow", "near_fast")
NEIGHBOURS = ("neighbour", "together")
# Profiles are not learned; they come from texts, by way of the vector index.
PROFILES = ("user_profile", "item_profile")
# What a withdrawal changes only in the rows of its own users and items.
OWN_OF_USERS = ("user_content", "user_attributes", "history", "session.trust", "taste.trust")
OWN_OF_ITEMS = ("content", "attributes", "session.mass", "taste.mass")
PACKED = ("near_items", "near_weights", "combiner")
ITEM_ROWS = tuple(name for name in BY_ITEM if name not in (*SCRATCH, *NEIGHBOURS, *PROFILES))
USER_ROWS = tuple(name for name in BY_USER if name not in PROFILES)
Arrays = dict[str, NDArray[np.generic]]


def take_checkpoint(view: NumbersView, barrier: bool) -> Checkpoint:
    """Copy everything that was learned. Run it on the thread that owns the view."""
    found = borrow_checkpoint(view, barrier)
    arrays = {
        name: array if name in PACKED else array.copy() for name, array in found.arrays.items()
    }
    return Checkpoint(sequence=found.sequence, epoch=found.epoch, barrier=barrier, arrays=arrays)


def borrow_checkpoint(view: NumbersView, barrier: bool) -> Checkpoint:
    """Return a checkpoint of the view's own arrays, valid until the next step of learning."""
    state, users, items = view.state, view.users, view.items
    arrays: Arrays = {name: getattr(state, name) for name in COUNTED}
    for names, rows in ((ITEM_ROWS, items), (USER_ROWS, users), (BY_SEEN, int(state.clock[SEEN]))):
        arrays |= {name: getattr(state, name)[:rows] for name in names}
    arrays["near_items"], arrays["near_weights"] = packed_neighbours(
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
    arrays["combiner"] = packed(view.combiner)
    return Checkpoint(
        sequence=view.applied_through, epoch=view.epoch, barrier=barrier, arrays=arrays
    )


def borrow_own_rows(view: NumbersView) -> Checkpoint:
    """Return most of a barrier before a withdrawal; `borrow_remainder` completes it."""
    found = borrow_checkpoint(view, barrier=True)
    return replace(
        found, arrays={name: found.arrays[name] for name in (*OWN_OF_USERS, *OWN_OF_ITEMS)}
    )


def borrow_remainder(view: NumbersView, users: Iterable[int], items: Iterable[int]) -> Checkpoint:
    """Return what completes `borrow_own_rows` after a withdrawal.

    These are the present rows of its users and items, and all other arrays.

    Args:
        users: Rows of the users whose events were withdrawn.
        items: Rows of their items.
    """
    found = borrow_checkpoint(view, barrier=True)
    arrays = dict(found.arrays)
    for names, known, given in (
        (OWN_OF_USERS, view.users, users),
        (OWN_OF_ITEMS, view.items, items),
    ):
        rows = np.array(sorted(row for row in set(given) if row < known), np.int64)
        for name in names:
            array = arrays.pop(name)
            if len(rows):
                arrays |= {name + ROWS: rows, name + VALUES: array[rows]}
    return replace(found, arrays=arrays)


def restore_view(
    checkpoint: Checkpoint, seed: int, limits: tuple[float, float] = NO_LIMITS
) -> NumbersView:
    """Restore the view that a checkpoint left.

    Its arrays are taken out one by one, so that hardly more than one copy is in memory.

    Raises:
        StoreCorrupt: The checkpoint lacks an array.
    """
    try:
        return _restore(checkpoint, seed, limits)
    except KeyError as lacking:
        raise StoreCorrupt(
            f"the checkpoint of the numbers at sequence {checkpoint.sequence} lacks"
            f" {lacking.args[0]}; restore a back-up"
        ) from lacking


def _restore(checkpoint: Checkpoint, seed: int, limits: tuple[float, float]) -> NumbersView:
    arrays = apply_patch(checkpoint.arrays)
    view = NumbersView(
        _f32(arrays.pop("session.centres")),
        _f32(arrays.pop("taste.centres")),
        seed,
        checkpoint.epoch,
        limits,
    )
    view.state = with_room(
        view.state, len(arrays["seen_last"]), len(arrays["adoptions"]), len(arrays["seen_item"])
    )
    state = view.state
    for name in (*COUNTED, *ITEM_ROWS, *USER_ROWS, *BY_SEEN):
        _fill(getattr(state, name), arrays.pop(name))
    items = view.items
    unpack_neighbours(
        arrays.pop("near_items"),
        arrays.pop("near_weights"),
        state.neighbour_count[:items],
        state.neighbour,
        state.together,
    )
    refill_seen(state.seen_set, state.seen_last[: view.users], state.seen_item, state.seen_before)
    for name in BANKS:
        for part in ("mass", "trust", "total"):
            _fill(getattr(getattr(state, name), part), arrays.pop(f"{name}.{part}"))
        retire_spare_rows(getattr(state, name), view.users)
    unpack(view.combiner, np.asarray(arrays.pop("combiner"), np.float64))
    view.applied_through = checkpoint.sequence
    return view


def _fill(places: NDArray[np.generic], values: NDArray[np.generic]) -> None:
    places[: len(values)] = values


def _f32(array: NDArray[np.generic]) -> NDArray[np.float32]:
    return np.asarray(array, np.float32)
