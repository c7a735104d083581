"""Compile (or load from the cache) what an evolution does with numbers, before anybody is kept
waiting by it."""

import numpy as np

from propagation.model.routers.router_maps import Halves, RouterMap
from propagation.numbers.evolve import (
    Written,
    evolved_bank,
    evolved_mass,
    evolved_seen,
    evolved_trust,
)
from propagation.workflow.evolve.holdout import Holdout, rewind_snapshot, take_snapshot
from propagation.workflow.evolve.plan_judge import replay_holdout
from propagation.workflow.views.numbers_view import NumbersView


def warm_evolution(view: NumbersView) -> None:
    """On a throwaway view of a few events."""
    rows = np.arange(2)
    tail = Holdout(
        through=view.applied_through,
        judged_from=0,
        users=rows,
        items=rows,
        negatives=rows[::-1].copy(),
        weights=np.ones(2),
        routers=np.zeros((2, 16), np.int64),
        written=np.zeros((2, 16)),
        scores=np.zeros((2, 2), np.float32),
    )
    sight = take_snapshot(view, tail)
    rewind_snapshot(sight)
    replay_holdout(sight.tastes, sight)
    state, routers = view.state, sight.routers
    half = Written(np.zeros(1), np.zeros(1))
    change = RouterMap(
        run=0,
        through=0,
        from_epoch=0,
        to_epoch=1,
        home=np.arange(routers),
        routers=routers + 1,
        centres=state.taste.centres,
        halves={0: Halves(0, routers, np.zeros(1, np.bool_), False, 0.5)},
    )
    evolved_mass(sight.tastes.mass, change, {0: half})
    evolved_trust(sight.tastes.trust, change)
    centres = np.zeros((routers + 1, state.content.shape[1]), np.float32)
    evolved_bank(state.taste, change, {0: half}, centres)
    evolved_seen(state.seen_router, state.seen_last, state.seen_before, change)
