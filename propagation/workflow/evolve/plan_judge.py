"""Judging a plan on the holdout: its routers against those that are, from the state of T.

Source: `docs/design.md`, "The loop", step 8.
"""

import numpy as np
from numpy.typing import NDArray

from propagation.model.routers.router_maps import RouterMap
from propagation.numbers.evolve import Written, evolved_mass, evolved_total, evolved_trust
from propagation.numbers.holdout import Tastes, copied, replay
from propagation.optimization.holdout_judge import Verdict, judge, lift_slopes
from propagation.workflow.evolve.holdout import Holdout, Snapshot
from propagation.workflow.evolve.planner import Plan


def judge_plan(plan: Plan, snapshot: Snapshot, holdout: Holdout) -> Verdict | None:
    """Compare a plan with the routers that are, in a thread: nothing else is touched.

    Args:
        snapshot: Taken back to T.

    Returns:
        The verdict; None if fewer than two users can be judged by.
    """
    divisions = plan.divide(snapshot.directions, len(snapshot.mass))
    change = plan.numbering.to_map(
        {router: division.halves for router, division in divisions.items()},
        holdout.judged_from,
        snapshot.epoch,
        np.zeros((snapshot.routers, 0), np.float32),
    )
    written = {router: division.mass for router, division in divisions.items()}
    before, bins = replay_holdout(copied(snapshot.tastes), snapshot)
    after, _ = replay_holdout(_evolved(snapshot, change, written), snapshot)
    rows = np.flatnonzero(
        (holdout.negatives >= 0) & np.isfinite(holdout.scores).all(axis=1) & snapshot.known
    )
    slopes = [
        lift_slopes(snapshot.weights, snapshot.deviation, bins[rows, 0], bins[rows, place])
        for place in (1, 2)
    ]
    return judge(
        holdout.users[rows],
        holdout.scores[rows],
        before[rows],
        after[rows],
        np.stack(slopes, axis=1),
        len(holdout),
    )


def replay_holdout(
    tastes: Tastes, snapshot: Snapshot
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Run the holdout on these routers, and read the lift before each event.

    Args:
        tastes: Changed in place.

    Returns:
        s(u, i) of i+ and i- [H, 2], and the bins of user, i+ and i- [H, 3].
    """
    size = len(snapshot.events.user)
    readings, bins = np.zeros((size, 2)), np.zeros((size, 3), np.int64)
    replay(tastes, snapshot.events, snapshot.known, readings, bins)
    return readings, bins


def _evolved(snapshot: Snapshot, change: RouterMap, written: dict[int, Written]) -> Tastes:
    rows = {
        router: Written(both.first[snapshot.items], both.second[snapshot.items])
        for router, both in written.items()
    }
    tastes = copied(snapshot.tastes)
    return tastes._replace(
        mass=evolved_mass(tastes.mass, change, rows),
        trust=evolved_trust(tastes.trust, change),
        total=evolved_total(tastes.total, snapshot.mass, change, written),
    )
