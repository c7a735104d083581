"""The plan on the state of T, against the routers that are, over the holdout (DESIGN, step 8)."""

import numpy as np
from numpy.typing import NDArray

from propagation.model.routers.router_maps import Halves, RouterMap
from propagation.numbers.evolve import Written, evolved_mass, evolved_total, evolved_trust
from propagation.numbers.holdout import Tastes, copied, replay
from propagation.optimization.holdout_judge import Verdict, judge, slopes
from propagation.workflow.evolve.holdout import Holdout
from propagation.workflow.evolve.planner import Plan, divided
from propagation.workflow.evolve.snapshot import Snapshot


def map_of(
    plan: Plan,
    halves: dict[int, Halves],
    through: int,
    epoch: int,
    centres: NDArray[np.float32],
    start_shares: dict[int, float],
    versions: dict[int, int],
    undoes: int | None = None,
) -> RouterMap:
    """The plan as a map, from `epoch` to the next."""
    numbering = plan.numbering
    return RouterMap(
        run=0,
        through=through,
        from_epoch=epoch,
        to_epoch=epoch + 1,
        home=numbering.home,
        routers=numbering.routers,
        centres=centres,
        retired=numbering.retired,
        halves=halves,
        start_shares=start_shares,
        versions=versions,
        undoes=undoes,
    )


def judge_plan(plan: Plan, sight: Snapshot, tail: Holdout) -> Verdict | None:
    """`sight` stands at T. None where fewer than two users can be judged by. Beside the loop:
    nothing else is touched."""
    directions, items = sight.directions, len(sight.mass)
    halves, written = {}, {}
    for router, numbers in plan.numbering.halves.items():
        halves[router], written[router] = divided(
            numbers, router, plan.communities[router], plan.written, directions, items
        )
    change = map_of(
        plan,
        halves,
        tail.judged_from,
        sight.epoch,
        np.zeros((sight.routers, 0), np.float32),
        {},
        {},
    )
    before, bins = readings_of(copied(sight.tastes), sight)
    after, _ = readings_of(_evolved(sight, change, written), sight)
    rows = np.flatnonzero(
        (tail.negatives >= 0) & np.isfinite(tail.scores).all(axis=1) & sight.known
    )
    slope = np.stack(
        [
            slopes(sight.weights, sight.deviation, bins[rows, 0], bins[rows, place])
            for place in (1, 2)
        ],
        axis=1,
    )
    return judge(tail.users[rows], tail.scores[rows], before[rows], after[rows], slope, len(tail))


def readings_of(tastes: Tastes, sight: Snapshot) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """(s(u,i) of i+ and i- [H,2], bins [H,3]) of the holdout run on these routers; `tastes` is
    changed by it."""
    size = len(sight.events.user)
    readings, bins = np.zeros((size, 2)), np.zeros((size, 3), np.int64)
    replay(tastes, sight.events, sight.known, readings, bins)
    return readings, bins


def _evolved(sight: Snapshot, change: RouterMap, written: dict[int, Written]) -> Tastes:
    rows = {
        router: Written(both.first[sight.items], both.second[sight.items])
        for router, both in written.items()
    }
    tastes = copied(sight.tastes)
    return tastes._replace(
        mass=evolved_mass(tastes.mass, change, rows),
        trust=evolved_trust(tastes.trust, change),
        total=evolved_total(tastes.total, sight.mass, change, written),
    )
