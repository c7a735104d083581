"""Undo of an evolution: a run that brings the routers back.

Source: `docs/evolution.md`.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from propagation.model import (
    EvolutionChange,
    EvolutionKind,
    EvolutionRun,
    Halves,
    InvalidInput,
    RouterMap,
    RouterMaps,
    RouterVersion,
    drop_undone_runs,
    find_undoing_runs,
    pluralize,
)
from propagation.numbers import Written
from propagation.optimization.router_lineage import Numbering
from propagation.ports import GraphStore
from propagation.workflow.evolve.plan import ATTRIBUTES, DecidedPlan, Division
from propagation.workflow.learn import WrittenRows, read_aligned_blocks, sum_by_place
from propagation.workflow.views import NumbersView


async def plan_undo(store: GraphStore, view: NumbersView, run: int, through: int) -> DecidedPlan:
    """Plan the undo of a run; learning may go on.

    Args:
        view: A view that has followed learning up to `through`.
        through: Sequence up to which learned interactions are counted.

    Raises:
        InvalidInput: The run cannot be undone.
    """
    maps = await store.get_router_maps()
    change = find_undoable(maps.maps, run)
    numbering = reverse_numbering(change)
    before, since = await _gather_written(store, maps, change, numbering, through)
    texts = await _find_earlier_texts(store, change)
    back = "gets its earlier text" if len(texts) == 1 else "get their earlier texts"
    return DecidedPlan(
        run=EvolutionRun(
            undoes=run,
            changes=numbering.changes,
            verdict=(
                f"undoes run {run}: what users added since goes to their earlier routers;"
                f" {pluralize(len(texts), 'router')} {back} back"
            ),
        ),
        numbering=numbering,
        divisions={
            merged: _divide(merged, parts, before, since, change, view.users, view.items)
            for merged, parts in numbering.halves.items()
        },
        texts=texts,
        maps=maps,
        through=through,
        totals=np.zeros(change.routers),
        start_shares={
            part: share
            for halves in change.halves.values()
            for part, share in ((halves.first, halves.share), (halves.second, 1 - halves.share))
        },
        centres=change.centres,
    )


async def _gather_written(
    store: GraphStore, maps: RouterMaps, change: RouterMap, numbering: Numbering, through: int
) -> tuple[WrittenRows, WrittenRows]:
    """Gather what was written to the routers that a run merged.

    Returns:
        The rows from before the run, by the routers that were merged; and the rows since, by the
        routers that they became.
    """
    earlier = RouterMaps([one for one in maps.maps if one.run < change.run])
    routers = max(len(change.home), change.routers)
    parts, merged = np.zeros(routers, np.bool_), np.zeros(routers, np.bool_)
    merged[list(numbering.halves)] = True
    for pair in numbering.halves.values():
        parts[list(pair)] = True
    before, since = WrittenRows(), WrittenRows()
    if numbering.halves:
        async for block in read_aligned_blocks(store, 0, through):
            end = block.block.through
            if end <= change.through:
                before.add(block, earlier.after(end), parts)
            else:
                since.add(block, maps.after(end), merged)
    return before, since


async def _find_earlier_texts(store: GraphStore, change: RouterMap) -> list[RouterVersion]:
    """Load the text that each changed router had before a run.

    A router whose earlier text is no longer stored keeps its present text.
    """
    found = [await store.get_router_version(*key) for key in sorted(change.versions.items())]
    return [
        replace(earlier, attributes=find_largest_attributes(earlier), integrated=(), sequence=0)
        for earlier in found
        if earlier is not None
    ]


def find_largest_attributes(version: RouterVersion) -> tuple[str, ...]:
    """Return the largest attributes of a router's standing, largest first."""
    by_weight = sorted(version.standing, key=lambda named: (-named[1], named[0]))
    return tuple(name for name, _ in by_weight[:ATTRIBUTES])


def find_undoable(maps: Sequence[RouterMap], run: int) -> RouterMap:
    """Find the map of a run that can be undone.

    It is the last run that is not undone, or the newest run if that is an undo.

    Raises:
        InvalidInput: The run cannot be undone.
    """
    not_undone = drop_undone_runs(maps)
    if (not_undone and not_undone[-1].run == run) or (maps and maps[-1].run == run):
        return next(one for one in maps if one.run == run)
    if any(one.run == run for one in not_undone):
        last = not_undone[-1].run
        reason = f"is {run}, but run {last} builds on it; undo run {last} first"
    elif any(one.run == run for one in maps):
        undone = find_undoing_runs(maps)
        undo = next((one.run for one in maps if one.undoes == run), run)
        reason = (
            f"is {run}, which is undone"
            if run in undone or undo not in undone
            else f"is {run}, which run {undone[undo]} brought back; undo run {undone[undo]}"
        )
    else:
        reason = (
            f"is {run}: no run of that number changed routers since the newest bootstrap;"
            " ListEvolutionRuns (`evolve --list`) shows the runs"
        )
    raise InvalidInput("undo_run", reason)


def reverse_numbering(change: RouterMap) -> Numbering:
    """Build the numbering that undoes a run.

    The halves of the run's splits merge, and the routers that it merged split.
    """
    home = np.arange(change.routers)
    changes = []
    for router, split in change.halves.items():
        parts = (split.first, split.second)
        home[list(parts)] = router
        changes.append(
            EvolutionChange(kind=EvolutionKind.MERGE, before=tuple(sorted(parts)), after=(router,))
        )
    halves = _find_merged_routers(change)
    changes.extend(
        EvolutionChange(kind=EvolutionKind.SPLIT, before=(number,), after=parts)
        for number, parts in halves.items()
    )
    return Numbering(home, halves, len(change.home), _find_retired_before(change), tuple(changes))


def _find_merged_routers(change: RouterMap) -> dict[int, tuple[int, int]]:
    """Return both routers of each merge, ascending, by the merged number."""
    sources = {
        number: [
            router
            for router in np.flatnonzero(change.home == number).tolist()
            if router not in change.halves
        ]
        for number in range(len(change.home))
    }
    return {
        number: (routers[0], routers[1]) for number, routers in sources.items() if len(routers) > 1
    }


def _find_retired_before(change: RouterMap) -> frozenset[int]:
    """Return the numbers that stood for no router before a run.

    Some of them still stand for none. A split gave each of the others to the half that did not keep
    the number of its router.
    """
    numbers = range(len(change.home))
    still_retired = {
        number for number in change.retired.intersection(numbers) if change.home[number] == number
    }
    taken_by_splits = {
        split.first if split.second == router else split.second
        for router, split in change.halves.items()
    }
    return frozenset(still_retired | taken_by_splits.intersection(numbers))


def _divide(
    merged: int,
    parts: tuple[int, int],
    before: WrittenRows,
    since: WrittenRows,
    change: RouterMap,
    users: int,
    items: int,
) -> Division:
    """Divide a merged router again.

    Mass written before the merge goes back to the router that it was written to. Mass written since
    goes to the half that its user wrote more to before, else to the larger half.

    Args:
        merged: The router to divide.
        parts: The numbers of its halves.
        before: Rows from before the merge, by half.
        since: Rows since the merge, by merged router.
        users: How many users there are.
        items: How many items there are.
    """
    amounts, masses = [], []
    for part in parts:
        writers, rows, weights = before.of(part)
        amounts.append(sum_by_place(writers, weights, users))
        masses.append(sum_by_place(rows, weights, items))
    first, second = amounts
    larger = bool(second.sum() > first.sum())
    in_second = np.where(first + second > 0, second > first, larger)
    writers, rows, weights = since.of(merged)
    to_second = in_second[writers]
    masses[0] += sum_by_place(rows[~to_second], weights[~to_second], items)
    masses[1] += sum_by_place(rows[to_second], weights[to_second], items)
    shares = [change.start_shares.get(part, 0.5) for part in parts]
    share = shares[0] / sum(shares) if sum(shares) > 0 else 0.5
    return Division(Halves(*parts, in_second, larger, share), Written(*masses))
