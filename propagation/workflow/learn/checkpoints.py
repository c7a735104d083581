"""The view as a checkpoint and back: used rows only, neighbours as a CSR matrix, what can be
derived left out."""

from collections.abc import Iterable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from propagation.model.errors import StoreCorrupt
from propagation.model.interactions.learned_block import Checkpoint
from propagation.numbers.csr_packing import packed_neighbours, refill_seen, unpack_neighbours
from propagation.numbers.evolve import retire_spare_rows
from propagation.numbers.resize import with_room
from propagation.numbers.rules.combiner import packed, unpack
from propagation.numbers.state import BY_ITEM, BY_SEEN, BY_USER, NO_LIMITS, SEEN, Bank, State
from propagation.workflow.learn.checkpoint_patch import ROWS, VALUES, apply_patch
from propagation.workflow.views.numbers_view import NumbersView

BANKS = ("session", "taste")
COUNTED = ("clock", "totals")
SCRATCH = ("near_slow", "near_fast")
NEIGHBOURS = ("neighbour", "together")
DERIVED = ("seen_set",)
LATER = ("day", "day_mass")  # what checkpoints of the first release lack
PROFILES = (
    "user_profile",
    "item_profile",
)  # not learned: filled from texts, by way of the vector index
# What taking something back changes in the rows of the users and items that it is about, and
# nowhere else.
OWN_OF_USERS = ("user_content", "user_attributes", "history", "session.trust", "taste.trust")
OWN_OF_ITEMS = ("content", "attributes", "session.mass", "taste.mass")
PACKED = ("near_items", "near_weights", "combiner")
ITEM_ROWS = tuple(name for name in BY_ITEM if name not in (*SCRATCH, *NEIGHBOURS, *PROFILES))
USER_ROWS = tuple(name for name in BY_USER if name not in PROFILES)
Arrays = dict[str, NDArray[np.generic]]


def take_checkpoint(view: NumbersView, barrier: bool) -> Checkpoint:
    """A copy of everything that was learned; profile vectors are not. Run it where the view is
    owned."""
    found = borrow_checkpoint(view, barrier)
    arrays = {
        name: array if name in PACKED else array.copy() for name, array in found.arrays.items()
    }
    return Checkpoint(sequence=found.sequence, epoch=found.epoch, barrier=barrier, arrays=arrays)


def borrow_checkpoint(view: NumbersView, barrier: bool) -> Checkpoint:
    """As `take_checkpoint`, but the view's own arrays where that is possible: for as long as nobody
    learns."""
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
    """Of a barrier, most of it: what is known by row before anything is taken back. To be completed
    by `borrow_remainder`."""
    found = borrow_checkpoint(view, barrier=True)
    return replace(
        found, arrays={name: found.arrays[name] for name in (*OWN_OF_USERS, *OWN_OF_ITEMS)}
    )


def borrow_remainder(view: NumbersView, users: Iterable[int], items: Iterable[int]) -> Checkpoint:
    """What completes `borrow_own_rows` once something of these users (rows) and items (rows) was taken
    back: their rows as they are now, however they were written before, and all other arrays."""
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
    """The view as a checkpoint left it. Its arrays are taken out one by one, so that hardly more
    than one copy is held. Raises StoreCorrupt where it lacks one."""
    try:
        return _restore(checkpoint, seed, limits)
    except KeyError as lacking:
        raise StoreCorrupt(
            f"the checkpoint of the numbers at sequence {checkpoint.sequence} lacks {lacking.args[0]}; restore a"
            " back-up"
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
        if name in arrays or name not in LATER:
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


def differing_arrays(one: State, other: State) -> list[str]:
    """Names of arrays that differ in any bit of a used row; profile vectors, which are not learned,
    left out."""
    first, second = _comparable(one), _comparable(other)
    return [name for name in first if first[name].tobytes() != second[name].tobytes()]


def _comparable(state: State) -> Arrays:
    users, items, seen = int(state.clock[2]), int(state.clock[3]), int(state.clock[SEEN])
    out: Arrays = {name: getattr(state, name) for name in COUNTED}
    for names, rows in ((ITEM_ROWS, items), (USER_ROWS, users), (BY_SEEN, seen)):
        out |= {name: getattr(state, name)[:rows] for name in names}
    out["near_items"], out["near_weights"] = packed_neighbours(
        state.neighbour, state.together, state.neighbour_count[:items]
    )
    for name in BANKS:
        bank: Bank = getattr(state, name)
        out |= {
            f"{name}.mass": bank.mass[:items],
            f"{name}.trust": bank.trust[:users],
            f"{name}.total": bank.total,
        }
    return out


def _fill(places: NDArray[np.generic], values: NDArray[np.generic]) -> None:
    places[: len(values)] = values


def _f32(array: NDArray[np.generic]) -> NDArray[np.float32]:
    return np.asarray(array, np.float32)
