"""Compile (or load from the cache) every kernel before the first request does."""

from functools import cache

import numpy as np

from propagation.model.clients.client import ClientKind, ref_of
from propagation.model.interactions.log import Interactions
from propagation.model.interactions.withdrawal import LearnedWeights
from propagation.model.routers.router_maps import RouterMaps
from propagation.numbers.ranking.quantised_scores import follow_recent, up_to_date
from propagation.workflow.concurrency.core_pool import CorePool
from propagation.workflow.forget.number_changes import History, Subtraction
from propagation.workflow.learn.checkpoints import restored, snapshot
from propagation.workflow.read.scoring import EMPTY_ROWS, CatalogueScorer, ReadRequest
from propagation.workflow.views.numbers_view import NumbersView, seeded_directions
from propagation.workflow.warm_evolution import warm_evolution

SIZE = 4
DIMENSION = 2


@cache
def warm_up() -> None:
    """Do on throwaway views of a few events all that the service does with numbers; once a process.
    Some 100 s of one core on a machine's first run, else a moment. The two halves have few kernels
    in common: two processes can compile them side by side."""
    warm_reading(warm_learning())


def warm_learning() -> NumbersView:
    """What writes the numbers: learning, following, evolution, taking back. The view that learned."""
    view, events = _view(), _events()
    block = view.learn(events, SIZE)
    _view().follow(events, block)
    _view().relearn(events, block)
    restored(snapshot(view, barrier=False), view.seed)
    warm_evolution(view)
    rows = np.arange(SIZE)
    written = LearnedWeights(
        events.sequence, events.sequence, events.item, block.routers, block.weights
    )
    taking_back = Subtraction(written, written.routers, RouterMaps(), retrust=True)
    for gone in (
        rows < 1,
        rows < 0,
        rows >= 0,
    ):  # a repeat takes the place; nothing goes; nothing is left
        taking_back.withdraw(view, [History(0, events.sequence, rows // 2, events.weight, gone)])
    taking_back.finish(view, ref_of(ClientKind.ITEM, 0))
    follow_recent(up_to_date(None, view.state, EMPTY_ROWS), view.state)
    return view


def warm_reading(view: NumbersView | None = None) -> None:
    """What only looks: at a view that learned, or at a new one."""
    view = view or _view()
    view.taste_weights([ref_of(ClientKind.USER, 0), ref_of(ClientKind.ITEM, 0)], count=2)
    cores = CorePool(1)
    CatalogueScorer(cores).read(
        view,
        [
            ReadRequest(user=0, arm=0, limit=1, explain=True),
            ReadRequest(user=0, arm=0, limit=1, candidates=np.arange(SIZE)),
        ],
    )
    cores.close()


def _view() -> NumbersView:
    directions = seeded_directions(SIZE, DIMENSION, seed=0)
    view = NumbersView(directions, directions, seed=0, epoch=0)
    view.add_users(SIZE)
    for row, vector in enumerate(directions):
        view.set_item(row, vector, vector, visible=True)
    view.set_item(SIZE, np.zeros_like(directions[0]), np.zeros_like(directions[0]), visible=True)
    return view


def _events() -> Interactions:
    rows = np.arange(SIZE)
    return Interactions(
        sequence=rows + 1,
        user=rows,
        item=rows,
        negative=np.full(SIZE, -1),
        weight=np.ones(SIZE),
        seed=rows.astype(np.uint64),
        day=rows,
    )
