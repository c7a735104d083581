"""Undo of an evolution: one more run, whose map leads back (DESIGN, step 8)."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from propagation.model.errors import InvalidInput
from propagation.model.routers.evolution import EvolutionChange, EvolutionKind
from propagation.model.routers.router_maps import RouterMap, drop_undone_runs
from propagation.optimization.router_lineage import Numbering


def undoable(maps: Sequence[RouterMap], run: int) -> RouterMap:
    """The map of a run that can be undone: the last one that still stands, or the undo that came
    last. Raises InvalidInput."""
    left = drop_undone_runs(maps)
    if (left and left[-1].run == run) or (maps and maps[-1].run == run):
        return next(one for one in maps if one.run == run)
    if any(one.run == run for one in left):
        raise InvalidInput(
            "undo_run",
            f"is {run}, on which run {left[-1].run} was built; undo run {left[-1].run} first",
        )
    if any(one.run == run for one in maps):
        raise InvalidInput("undo_run", f"is {run}, which is undone")
    raise InvalidInput(
        "undo_run",
        f"is {run}: no run of that number changed routers since the newest bootstrap; `evolve --list`"
        " shows the runs",
    )


def led_back(change: RouterMap) -> Numbering:
    """The numbers before `change`, from those after it. The halves of a merge are the routers that
    it merged."""
    home = np.arange(change.routers)
    halves: dict[int, tuple[int, int]] = {}
    done = []
    for router, split in change.halves.items():
        home[[split.first, split.second]] = router
        done.append(
            EvolutionChange(
                kind=EvolutionKind.MERGE,
                before=tuple(sorted((split.first, split.second))),
                after=(router,),
            )
        )
    for number, (one, other) in _merged(change).items():
        halves[number] = (one, other)
        done.append(EvolutionChange(kind=EvolutionKind.SPLIT, before=(number,), after=(one, other)))
    return Numbering(home, halves, len(change.home), _retired_before(change), tuple(done))


def _merged(change: RouterMap) -> dict[int, tuple[int, int]]:
    """(smaller, larger) router by what they were merged into."""
    found = {}
    for number in range(len(change.home)):
        parts = [
            router
            for router in np.flatnonzero(change.home == number).tolist()
            if router not in change.halves
        ]
        if len(parts) > 1:
            found[number] = (parts[0], parts[1])
    return found


def _retired_before(change: RouterMap) -> frozenset[int]:
    """Numbers that stood for nobody: still do, or were taken by a second half."""
    still = {
        number
        for number in change.retired
        if number < len(change.home) and change.home[number] == number
    }
    new = {
        split.first if split.second == router else split.second
        for router, split in change.halves.items()
    }
    return frozenset(still | {number for number in new if number < len(change.home)})


def earlier_half(
    first: NDArray[np.float64], second: NDArray[np.float64]
) -> tuple[NDArray[np.bool_], bool]:
    """(in_second [U], larger_is_second) from what each user had written to two routers before they
    were merged [U]."""
    larger = bool(second.sum() > first.sum())
    wrote = first + second > 0
    return np.where(wrote, second > first, larger), larger
