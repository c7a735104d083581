"""Counts of the users who trust each router most."""

import asyncio

import numpy as np
import pytest

from propagation.model import BankName
from propagation.workflow.read import router_communities
from propagation.workflow.read.router_communities import count_trusting_users
from tests.unit.workflow.evolve.planted_communities import (
    STYLES,
    draw_events,
    make_engine,
    open_with_history,
    push,
)


@pytest.fixture
async def engine(tmp_path):
    made = make_engine(tmp_path / "graph.db")
    await open_with_history(made, STYLES[:2], events=60)
    yield made
    await made.close()


async def learn_more(engine, seed):
    await push(engine, draw_events(STYLES[2:], 40, seed=seed))


@pytest.mark.parametrize("bank", BankName)
async def test_each_user_with_events_counts_for_one_router(engine, bank):
    view = engine.numbers.view
    trust = (view.state.session if bank == BankName.SESSION else view.state.taste).trust
    counts = [0] * trust.shape[1]
    for user in range(view.users):
        if view.state.history_length[user]:
            counts[int(np.argmax(trust[user]))] += 1
    assert list(await engine.trust_counts.read(bank)) == counts
    assert sum(counts) == view.users > 0


async def test_cheap_counts_are_of_now(engine, monkeypatch):
    monkeypatch.setattr(router_communities, "CHEAP_SECONDS", 60.0)
    before = await engine.trust_counts.read(BankName.TASTE)
    await learn_more(engine, 2)
    after = await engine.trust_counts.read(BankName.TASTE)
    assert sum(after) == engine.numbers.view.users > sum(before)


async def test_costly_counts_are_shown_for_a_while(engine, monkeypatch):
    monkeypatch.setattr(router_communities, "CHEAP_SECONDS", 0.0)
    monkeypatch.setattr(router_communities, "SHARE_OF_TIME", 1e-12)
    monkeypatch.setattr(router_communities, "OLDEST_SECONDS", 600.0)
    before = await engine.trust_counts.read(BankName.TASTE)
    await learn_more(engine, 2)
    assert await engine.trust_counts.read(BankName.TASTE) is before
    through = engine.applied_through
    after = await engine.trust_counts.read(BankName.TASTE, through)
    assert list(after) == count_trusting_users(engine.numbers.view, BankName.TASTE) != list(before)
    monkeypatch.setattr(router_communities, "OLDEST_SECONDS", 0.0)
    assert await engine.trust_counts.read(BankName.TASTE) is after, "nothing was learned since"


async def test_calls_at_the_same_time_count_once(engine, monkeypatch):
    counted = []

    def count(view, bank):
        counted.append(bank)
        return count_trusting_users(view, bank)

    monkeypatch.setattr(router_communities, "count_trusting_users", count)
    found = await asyncio.gather(*(engine.trust_counts.read(BankName.TASTE) for _ in range(8)))
    assert counted == [BankName.TASTE]
    assert all(one is found[0] for one in found)
