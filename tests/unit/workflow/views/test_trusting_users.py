"""The kept counts of trusting users, against a count of all users."""

from types import SimpleNamespace

import numpy as np
import pytest

from propagation.model import BankName, ClientKey, ClientKind
from propagation.workflow.learn import apply_clients, restore_view, take_checkpoint
from propagation.workflow.learn.learned_blocks import read_blocks
from propagation.workflow.views import NumbersOwner
from propagation.workflow.views.trusting_users import TrustingUsers
from tests.unit.workflow.evolve.planted_communities import (
    STYLES,
    draw_events,
    make_engine,
    open_with_history,
    push,
)


def make_bank(*trust):
    return SimpleNamespace(trust=np.array(trust, np.float32), total=np.zeros(len(trust[0])))


def count_all(view, name):
    """Count every user of a view, one by one."""
    trust = view.get_bank(name).trust
    counts = [0] * trust.shape[1]
    for user in range(view.users):
        if view.state.history_length[user]:
            counts[int(np.argmax(trust[user]))] += 1
    return counts


def check_counts(view):
    """Compare both banks' kept counts with a count of all users; return those of taste."""
    for name in BankName:
        assert view.count_trusting_users(name).tolist() == count_all(view, name), name
    return view.count_trusting_users(BankName.TASTE).tolist()


def test_changed_users_move_from_one_router_to_another():
    bank, history = make_bank([1, 2, 0], [3, 0, 0], [0, 0, 5]), np.array([4, 1, 0])
    kept = TrustingUsers(bank, history)
    assert kept.counts.tolist() == [1, 1, 0], "the third user has no history"
    bank.trust[0], bank.trust[1], history[2] = [0, 0, 9], [0, 7, 0], 1
    kept.update(bank, history, np.array([0, 2, 0]))
    assert kept.counts.tolist() == [1, 0, 2], "the second user was not to be counted again"
    kept.update(bank, history, np.array([1]))
    assert kept.counts.tolist() == [0, 1, 2]
    history[:] = 0
    kept.update(bank, history, np.arange(3))
    assert kept.counts.tolist() == [0, 0, 0]


def test_new_users_are_counted_once_the_bank_has_room_for_them():
    kept = TrustingUsers(make_bank([1, 0]), np.array([1]))
    kept.update(make_bank([1, 0], [0, 0], [0, 1]), np.array([1, 1, 1]), np.array([2]))
    assert kept.counts.tolist() == [1, 1]
    kept.update(make_bank([1, 0], [0, 0], [0, 1]), np.array([1, 1, 1]), np.array([1, 1]))
    assert kept.counts.tolist() == [2, 1], "of equal routers the first one"


@pytest.fixture
async def engine(tmp_path):
    made = make_engine(tmp_path / "graph.db")
    await open_with_history(made, STYLES[:2], events=200)
    yield made
    await made.close()


async def test_counts_follow_what_is_learned(engine):
    before = check_counts(engine.numbers.view)
    await push(engine, draw_events(STYLES[2:], 40, seed=2))
    after = check_counts(engine.numbers.view)
    assert sum(after) == engine.numbers.view.users > sum(before)


async def test_counts_follow_retraction_and_erasure(engine):
    view = engine.numbers.view
    await push(engine, draw_events(("jazz",), 1, seed=7, users=1))
    users = sum(check_counts(view))
    await engine.retract([f"1-{n}" for n in range(0, 120, 2)])  # events of jazz alone
    less = sum(check_counts(view))
    await engine.forget(ClientKey(kind=ClientKind.USER, id="opera-3"))
    assert sum(check_counts(view)) == less - 1 < users
    await push(engine, draw_events(STYLES[:2], 40, seed=3))
    check_counts(view)


async def test_counts_are_of_the_routers_after_an_evolution(engine):
    view = engine.numbers.view
    await push(engine, draw_events(STYLES, 400, seed=2))
    before = check_counts(view)
    run = await engine.evolve()
    assert run.published
    after = check_counts(view)
    assert len(after) > len(before)
    assert sum(after) == sum(before)
    await push(engine, draw_events(STYLES, 40, seed=3))
    check_counts(view)


@pytest.mark.parametrize("relearns", [False, True])
async def test_counts_follow_stored_blocks(engine, relearns):
    view = engine.numbers.view
    follower = NumbersOwner(restore_view(take_checkpoint(view, barrier=False), view.seed))
    before = check_counts(follower.view)
    await push(engine, draw_events(STYLES[2:], 40, seed=2))
    async for part, blocks in read_blocks(engine.store, follower.view.applied_through):
        await apply_clients(engine.store, follower, engine.embedder, part)
        for interactions, block in blocks:
            (follower.view.relearn if relearns else follower.view.follow)(interactions, block)
    assert check_counts(follower.view) == check_counts(view) != before
    follower.close()


async def test_counts_are_the_same_after_a_restart(tmp_path):
    first = make_engine(tmp_path / "graph.db")
    await open_with_history(first, STYLES[:2], events=60)
    counts = check_counts(first.numbers.view)
    await first.close()
    again = make_engine(tmp_path / "graph.db")
    await again.open()
    assert check_counts(again.numbers.view) == counts
    await again.close()


async def test_counts_are_of_the_numbers_that_were_loaded_last(engine):
    view = engine.numbers.view
    earlier = restore_view(take_checkpoint(view, barrier=False), view.seed)
    before = check_counts(view)
    await push(engine, draw_events(STYLES[2:], 40, seed=2))
    assert check_counts(view) != before
    view.adopt(earlier)
    assert check_counts(view) == before
