"""The numbers of a bank's routers, read at one moment."""

import numpy as np

from propagation.model import BankName
from propagation.workflow.read.router_communities import RouterNumbers, read_router_numbers
from propagation.workflow.views import NumbersView, draw_seeded_directions
from tests.unit.workflow.evolve.planted_communities import (
    STYLES,
    draw_events,
    make_engine,
    open_with_history,
    push,
)


async def test_numbers_are_of_one_epoch(tmp_path):
    engine = make_engine(tmp_path / "graph.db")
    try:
        await open_with_history(engine, STYLES[:2], events=200)
        await push(engine, draw_events(STYLES, 400, seed=2))
        users = engine.numbers.view.users
        first = await engine.compute(read_router_numbers, BankName.TASTE)
        assert (first.epoch, first.retired) == (1, frozenset())
        assert len(first.masses) == len(first.trusting_users) == 2
        assert sum(first.trusting_users) == users
        run = await engine.evolve()
        split = await engine.compute(read_router_numbers, BankName.TASTE)
        assert (split.epoch, split.retired) == (2, frozenset())
        assert len(split.masses) == len(split.trusting_users) == 4, "both were split"
        await engine.evolve(undo=run.run)
        undone = await engine.compute(read_router_numbers, BankName.TASTE)
        assert (undone.epoch, undone.retired) == (3, frozenset())
        assert len(undone.masses) == len(undone.trusting_users) == 2, "the undo drops the halves"
        assert sum(undone.trusting_users) == users
        await engine.init()
        again = await engine.compute(read_router_numbers, BankName.TASTE)
        assert (again.epoch, again.retired) == (4, frozenset())
        assert len(again.masses) == len(again.trusting_users) == 2
        session = await engine.compute(read_router_numbers, BankName.SESSION)
        assert len(session.masses) == len(session.trusting_users) == 4
        assert sum(session.trusting_users) == sum(again.trusting_users) == users
    finally:
        await engine.close()


def test_a_retired_router_is_trusted_by_nobody():
    directions = draw_seeded_directions(3, 8, 1)
    view = NumbersView(directions[:1], directions, seed=1, epoch=5)
    view.add_users(2)
    view.state.taste.trust[:, 0] = -np.inf
    view.state.taste.total[:] = [0, 2.5, 4]
    view.state.history_length[:2] = 1
    view.state.taste.trust[1] = [-np.inf, 1, 3]
    assert read_router_numbers(view, BankName.TASTE) == RouterNumbers(
        epoch=5, masses=[0, 2.5, 4], trusting_users=[0, 1, 1], retired=frozenset({0})
    )
