"""Warm-up of every kernel before the first request.

A kernel that was compiled before is loaded from the cache; any other is compiled.
"""

from functools import cache

import numpy as np

from propagation.model import (
    ClientKind,
    Halves,
    Interactions,
    LearnedBlock,
    LearnedWeights,
    RouterMap,
    RouterMaps,
    compute_ref,
)
from propagation.numbers import Written, evolve_bank, evolve_mass, evolve_seen, evolve_trust
from propagation.numbers.ranking.quantised_scores import bring_up_to_date, follow_recent
from propagation.workflow.evolve.holdout import (
    Holdout,
    replay_holdout,
    rewind_snapshot,
    take_snapshot,
)
from propagation.workflow.forget.factor_relearning import relearn
from propagation.workflow.forget.number_changes import History, Subtraction
from propagation.workflow.learn import restore_view, take_checkpoint
from propagation.workflow.read.scoring import EMPTY_ROWS, CatalogueScorer, ReadRequest
from propagation.workflow.settings import RankerSettings
from propagation.workflow.views import CorePool, NumbersView, draw_seeded_directions

SIZE = 4
DIMENSION = 2


@cache
def warm_up() -> None:
    """Run all numeric work of the service once on throwaway views.

    This takes one core about two minutes if nothing is compiled yet, and a moment if everything is.
    """
    for part in PARTS:
        part()


def _learn_and_withdraw() -> None:
    view, rows = _create_view(), np.arange(SIZE)
    events = Interactions(
        sequence=rows + 1,
        user=rows,
        item=rows,
        negative=np.full(SIZE, -1),
        weight=np.ones(SIZE),
        seed=rows.astype(np.uint64),
        day=rows,
        time=rows.astype(np.uint32),
    )
    block = _learn(view, events)
    _withdraw(view, events, block)


def _read() -> None:
    view = _create_view()
    # User 1 has chosen item 0: explanations call kernels of their own for a user with history.
    view.state.history_next[1] = view.state.history_length[1] = 1
    cores = CorePool(1)
    CatalogueScorer(cores).read(
        view,
        [
            ReadRequest(user=1, arm=0, limit=1, explain=True),
            ReadRequest(user=0, arm=0, limit=1, candidates=np.arange(SIZE)),
        ],
    )
    cores.close()


def _read_tastes() -> None:
    view = _create_view()
    view.compute_taste_weights(
        [compute_ref(ClientKind.USER, 0), compute_ref(ClientKind.ITEM, 0)], count=2
    )
    follow_recent(
        bring_up_to_date(None, view.state, EMPTY_ROWS).recent,
        view.state.recent,
        view.state.recent_at,
        0,
        SIZE,
    )


def _learn(view: NumbersView, events: Interactions) -> LearnedBlock:
    block = view.learn(events, SIZE)
    _create_view().follow(events, block)
    _create_view().relearn(events, block)
    restore_view(take_checkpoint(view, barrier=False), view.seed)
    return block


def _withdraw(view: NumbersView, events: Interactions, block: LearnedBlock) -> None:
    rows = np.arange(SIZE)
    written = LearnedWeights(
        events.sequence, events.sequence, events.item, block.routers, block.weights
    )
    subtraction = Subtraction(written, written.routers, RouterMaps(), retrust=True)
    # Withdrawn are: one event, whose repeat takes its place; none; all.
    for withdrawn in (rows < 1, rows < 0, rows >= 0):
        subtraction.withdraw(
            view, [History(0, events.sequence, rows // 2, events.weight, events.time, withdrawn)]
        )
    subtraction.finish(view, compute_ref(ClientKind.ITEM, 0))


def _create_view() -> NumbersView:
    directions = draw_seeded_directions(SIZE, DIMENSION, seed=0)
    view = NumbersView(directions, directions, seed=0, epoch=0, factors=RankerSettings().factors)
    view.add_users(SIZE)
    for row, vector in enumerate(directions):
        view.set_item(row, vector, vector, visible=True)
    view.set_item(SIZE, np.zeros_like(directions[0]), np.zeros_like(directions[0]), visible=True)
    return view


def _evolve() -> None:
    view = _create_view()
    rows = np.arange(2)
    holdout = Holdout(
        judged_from=0,
        users=rows,
        items=rows,
        negatives=rows[::-1].copy(),
        weights=np.ones(2),
        routers=np.zeros((2, 16), np.int64),
        written=np.zeros((2, 16)),
        scores=np.zeros((2, 2), np.float32),
    )
    copy = take_snapshot(view, holdout)
    rewind_snapshot(copy)
    replay_holdout(copy.tastes, copy)
    state, routers = view.state, copy.routers
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
    evolve_mass(copy.tastes.mass, change, {0: half})
    evolve_trust(copy.tastes.trust, change)
    evolve_bank(
        state.taste,
        change,
        {0: half},
        np.zeros((routers + 1, state.content.shape[1]), np.float32),
    )
    evolve_seen(state.seen_router, state.seen_last, state.seen_before, change)


def _relearn_factors() -> None:
    relearn(_create_view())


# Two processes that compile take these parts in this order. The first two share no kernel that
# takes long. They are first because the third, which takes longest, needs kernels of both.
PARTS = (_relearn_factors, _evolve, _learn_and_withdraw, _read_tastes, _read)
