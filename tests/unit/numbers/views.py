"""Views with learned factors, for tests of the numbers."""

import numpy as np

from propagation.model import (
    ClientKind,
    Interactions,
    LearnedBlock,
    LearnedWeights,
    RouterMaps,
    compute_ref,
)
from propagation.workflow.forget.number_changes import History, Subtraction
from propagation.workflow.settings import RankerSettings
from propagation.workflow.views import NumbersView, draw_seeded_directions

USERS, ITEMS, ROUTERS, DIMENSION = 6, 20, 20, 8
Row = tuple[int, int, int, float]


def make_view() -> NumbersView:
    """Make a view with users and items that has learned nothing."""
    view = NumbersView(
        draw_seeded_directions(ROUTERS, DIMENSION, 1),
        draw_seeded_directions(ROUTERS, DIMENSION, 2),
        7,
        epoch=0,
        factors=RankerSettings().factors,
    )
    view.add_users(USERS)
    for row, vector in enumerate(draw_seeded_directions(ITEMS, DIMENSION, 3)):
        view.set_item(row, vector, vector, visible=True)
    return view


def learn_events(view: NumbersView, rows: list[Row]) -> tuple[LearnedBlock, Interactions]:
    """Learn rows of (user, item, seconds, weight)."""
    start, size = view.applied_through, len(rows)
    user, item, time, weight = (np.array([row[place] for row in rows]) for place in range(4))
    events = Interactions(
        sequence=np.arange(size) + start + 1,
        user=user.astype(np.int64),
        item=item.astype(np.int64),
        negative=np.full(size, -1),
        weight=weight.astype(np.float64),
        seed=np.arange(size, dtype=np.uint64) + np.uint64(start),
        day=np.zeros(size, np.int64),
        time=time.astype(np.uint32),
    )
    return view.learn(events, start + size), events


def withdraw_user(view: NumbersView, rows: list[Row], user: int) -> None:
    """Withdraw what a user did, all of which is in one block of `rows`."""
    places = np.array([place for place, row in enumerate(rows) if row[0] == user], np.int64)
    sequence = places + 1
    item = np.array([rows[place][1] for place in places], np.int64)
    nothing = np.zeros((len(places), 2, 16))
    written = LearnedWeights(
        sequence, sequence, item, nothing.astype(np.uint16), nothing.astype(np.float32)
    )
    subtraction = Subtraction(written, written.routers, RouterMaps(), retrust=True)
    history = History(
        user,
        sequence,
        item,
        np.array([rows[place][3] for place in places], np.float64),
        np.array([rows[place][2] for place in places], np.uint32),
        np.ones(len(places), np.bool_),
    )
    if len(places):
        subtraction.withdraw(view, [history])
    subtraction.finish(view, compute_ref(ClientKind.USER, user))


def erase_item(view: NumbersView, item: int) -> None:
    """Erase an item that nobody took."""
    nothing = np.zeros((0, 2, 16))
    no_rows = np.zeros(0, np.int64)
    written = LearnedWeights(
        no_rows, no_rows, no_rows, nothing.astype(np.uint16), nothing.astype(np.float32)
    )
    ref = compute_ref(ClientKind.ITEM, item)
    Subtraction(written, written.routers, RouterMaps(), retrust=False).finish(view, ref, [ref])
