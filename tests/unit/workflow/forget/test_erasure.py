"""Erasure and retraction in a whole engine.

Everything of a client is removed, and nothing else changes.
"""

import asyncio
from dataclasses import replace

import numpy as np
import pytest

from propagation.model import (
    ClientChange,
    EventStatus,
    LeaseLost,
    NotFound,
    RecordStatus,
    RouterMap,
    RouterMaps,
    index_of,
)
from propagation.workflow.concurrency import Leases, leases
from propagation.workflow.forget.withdrawal import map_to_current_routers
from propagation.workflow.learn.learner import Learner
from propagation.workflow.views import NumbersOwner
from tests.unit.workflow.learn.comparison import find_differing_arrays
from tests.unit.workflow.small_database import (
    ITEMS,
    USERS,
    assert_sound,
    build_title,
    create_clients,
    event,
    find_in_files,
    find_in_rows,
    item_key,
    make_engine,
    open_engine,
    read_texts,
    record_history,
    user_key,
)


@pytest.fixture
async def engine(tmp_path):
    async with open_engine(make_engine(tmp_path)) as engine:
        yield engine


async def assert_masses_add_up(engine):
    """Check N, n, c and adoption lists against the remaining stored weights."""
    state = engine.numbers.view.state
    items, users = engine.numbers.view.items, engine.numbers.view.users
    for place, bank in enumerate((state.session, state.taste)):
        written = np.zeros(bank.mass.shape[1])
        for block in await engine.store.read_learned(0, 10_000):
            np.add.at(
                written,
                block.routers[:, place].ravel(),
                block.weights[:, place].ravel().astype(np.float64),
            )
        mass = bank.mass[:items].sum(axis=0, dtype=np.float64)
        assert mass == pytest.approx(bank.total, abs=1e-4)
        start = 0.2 * int((mass.sum() > 0) and state.visible[:items].sum())
        assert bank.total.sum() == pytest.approx(written.sum() + start, rel=1e-5)
    pairs = set()
    for row in await engine.store.get_interactions(
        range(1, await engine.store.get_recorded_through() + 1)
    ):
        pairs.add((index_of(row.user), index_of(row.item)))
    adopted = np.bincount([item for _, item in pairs], minlength=items)
    assert state.adoptions[:items].tolist() == adopted.tolist()
    seen = set()
    for user in range(users):
        place = state.seen_last[user]
        while place >= 0:
            seen.add((user, int(state.seen_item[place])))
            place = state.seen_before[place]
    assert seen == pairs
    assert {(int(key) >> 32, int(key) & 0xFFFFFFFF) for key in state.seen_set if key >= 0} == pairs


async def test_an_erasure_removes_every_trace_of_a_user(engine, tmp_path):
    events = await record_history(engine, 1, 120)
    key = user_key(3)
    mine = [one for one in events if one.user_id == key.id]
    title = f"Dr. Longname the {3 * 104729}th"
    assert find_in_files(tmp_path, [key.id, title]) == [key.id, title]
    (ref,) = await engine.store.find_refs([key])
    before = await read_texts(engine)
    done = await engine.forgetting.forget(key, wipe=True)
    assert done.events_erased == len(mine) > 5
    words = [key.id, title, *(one.event_id for one in mine)]
    assert find_in_files(tmp_path, words) == []
    assert await find_in_rows(engine, words) == []
    assert await engine.store.find_refs([key]) == [None]
    await assert_sound(engine)
    await assert_masses_add_up(engine)
    left = {row.sequence for row in await engine.store.get_interactions(range(1, done.sequence))}
    await assert_others_unchanged(engine, before, ref, left)


async def assert_others_unchanged(engine, before, ref, left):
    """Check that the lines of other clients are unchanged.

    Lines that cited an event of the client, or a message, are not compared.

    Args:
        before: The texts before the erasure, by client.
        ref: The erased client.
        left: Sequences of the interactions that are left.
    """
    after = await read_texts(engine)
    assert ref not in after
    for other, text in before.items():
        if other == ref:
            continue
        kept = {line.id: line for line in after[other].profile.lines}
        for line in text.profile.lines:
            if all(source.sequence in left for source in line.sources):
                assert kept[line.id] == line


async def test_an_erasure_removes_every_trace_of_an_item(engine, tmp_path):
    events = await record_history(engine, 2, 120)
    key = item_key(3)
    words = [key.id, build_title(3), "theremin 77"]
    mine = [one for one in events if one.item_id == key.id]
    assert find_in_files(tmp_path, words) == words
    (ref,) = await engine.store.find_refs([key])
    await engine.forgetting.forget(key, wipe=True)
    words += [one.event_id for one in mine]
    assert find_in_files(tmp_path, words) == []
    assert await find_in_rows(engine, words) == []
    await assert_sound(engine)
    await assert_masses_add_up(engine)
    view = engine.numbers.view
    assert not view.state.visible[index_of(ref)]
    assert not (view.state.neighbour[np.arange(view.items)] == index_of(ref))[
        np.arange(384) < view.state.neighbour_count[: view.items, None]
    ].any()


async def test_erased_events_are_rejected_and_the_id_starts_anew(engine):
    events = await record_history(engine, 3, 60)
    key = user_key(1)
    mine = [one for one in events if one.user_id == key.id]
    (ref,) = await engine.store.find_refs([key])
    await engine.forgetting.forget(key, wipe=True)
    again = await engine.record(mine)
    assert {outcome.status for outcome in again.outcomes} == {RecordStatus.FORGOTTEN}
    with pytest.raises(NotFound):
        await engine.forgetting.forget(key, wipe=True)
    fresh = await engine.record([event(9_999, 1, 5)])
    assert fresh.outcomes[0].status == RecordStatus.ACCEPTED
    await engine.drain()
    (new,) = await engine.store.find_refs([key])
    assert new not in (None, ref)
    assert engine.numbers.view.state.history_length[index_of(new)] == 1
    await assert_sound(engine)


async def test_an_erasure_survives_a_restart(tmp_path):
    engine = make_engine(tmp_path)
    await engine.open()
    await create_clients(engine)
    await record_history(engine, 4, 60)
    await engine.forgetting.forget(user_key(0), wipe=True)
    await engine.forgetting.forget(item_key(4), wipe=True)
    numbers = engine.numbers.view.state
    await engine.close()
    again = make_engine(tmp_path)
    await again.open()
    try:
        assert find_differing_arrays(again.numbers.view.state, numbers) == []
        await record_history(again, 5, 60)
        await assert_sound(again)
        await assert_masses_add_up(again)
        await again.init()
        await assert_sound(again)
    finally:
        await again.close()


async def test_an_erasure_takes_events_that_are_not_learned_yet(engine, tmp_path):
    await record_history(engine, 6, 30)
    late = [event(7_000 + n, 2, n) for n in range(5)]
    await engine.record([*late, event(7_100, 5, 1)])
    done = await engine.forgetting.forget(user_key(2), wipe=True)
    assert done.events_erased >= 5
    assert find_in_files(tmp_path, [one.event_id for one in late]) == []
    await engine.drain()
    await assert_sound(engine)


async def test_a_retraction_withdraws_what_the_event_wrote(engine):
    events = await record_history(engine, 7, 90)
    one = next(one for one in events if one.user_id == user_key(2).id)
    state = engine.numbers.view.state
    (item,) = await engine.store.find_refs([replace(item_key(0), id=one.item_id)])
    had = state.adoptions[index_of(item)]
    mine = [
        other for other in events if (other.user_id, other.item_id) == (one.user_id, one.item_id)
    ]
    done = await engine.forgetting.retract([other.event_id for other in mine])
    assert [(event.retracted, event.before) for event in done.events] == [
        (True, EventStatus.RECORDED)
    ] * len(mine)
    assert engine.numbers.view.state.adoptions[index_of(item)] == had - 1
    again = await engine.forgetting.retract([one.event_id, "never"])
    assert [(event.retracted, event.before) for event in again.events] == [
        (False, EventStatus.RETRACTED),
        (False, EventStatus.UNKNOWN),
    ]
    repeat = await engine.record(mine)
    assert {outcome.status for outcome in repeat.outcomes} == {RecordStatus.DUPLICATE}
    await assert_sound(engine)
    await assert_masses_add_up(engine)


@pytest.mark.parametrize("wipe", [False, True])
async def test_a_retraction_does_the_nights_work_on_request(engine, wipe, monkeypatch):
    wiped = []

    async def wipe_and_note():
        wiped.append(True)
        await wipe_files()

    wipe_files = engine.store.wipe
    monkeypatch.setattr(engine.store, "wipe", wipe_and_note)
    events = await record_history(engine, 7, 90)
    done = await engine.forgetting.retract([events[0].event_id], wipe=wipe)
    assert done.events[0].retracted
    assert wiped == [True] * wipe
    assert engine.forgetting.relearning.is_due != wipe
    assert await engine.forgetting.relearning.run_if_due() == (
        0 if wipe else engine.numbers.view.state.clock[1]
    )


async def test_a_repeat_takes_the_place_of_a_retracted_first_adoption(engine):
    await record_history(engine, 8, 30)
    first, repeat = event(8_500, 6, 2, weight=2.0), event(8_501, 6, 2, weight=0.5)
    await engine.record([first, event(8_502, 7, 2), repeat])
    await engine.drain()
    (ref,) = await engine.store.find_refs([item_key(2)])
    before = engine.numbers.view.state.adoptions[index_of(ref)]
    done = await engine.forgetting.retract([first.event_id, first.event_id])
    assert [event.retracted for event in done.events] == [True, False]
    assert engine.numbers.view.state.adoptions[index_of(ref)] == before
    ((_, row),) = await engine.store.get_event_states([repeat.event_id])
    written = await engine.store.get_learned_weights([row.sequence])
    assert written.weights[0].sum(axis=1) == pytest.approx([0.5, 0.5], abs=1e-5)
    await assert_sound(engine)
    await assert_masses_add_up(engine)


async def test_retracting_the_only_event_leaves_a_user_without_history(engine):
    await record_history(engine, 9, 30)
    only = event(9_500, USERS + 5, 3)
    await engine.record([only])
    await engine.drain()
    await engine.forgetting.retract([only.event_id])
    (ref,) = await engine.store.find_refs([user_key(USERS + 5)])
    state, row = engine.numbers.view.state, index_of(ref)
    assert not state.taste.trust[row].any()
    assert not state.user_content[row].any()
    assert state.history_length[row] == 0
    text = (await engine.store.load_texts([ref]))[ref]
    assert text.profile.lines == ()
    assert await engine.store.get_gradients("profile", ref, 0, 9) == []
    await assert_sound(engine)


async def test_a_changed_items_text_is_subtracted_as_it_was_learned(engine):
    await record_history(engine, 10, 60)
    await engine.upsert_clients(
        [
            ClientChange(key=item_key(n), title=f"Renamed {n}", attributes=("zydeco",))
            for n in range(ITEMS)
        ]
    )
    await record_history(engine, 11, 30)
    for n in range(USERS):
        await engine.forgetting.forget(user_key(n), wipe=True)
    state = engine.numbers.view.state
    items = engine.numbers.view.items
    assert not state.adoptions[:items].any()
    assert np.abs(state.adopters[:items]).max() < 1e-3
    assert np.abs(state.recent[:items]).max() < 1e-6
    assert not state.neighbour_count[:items].any()
    assert state.totals[0] == 0
    for bank in (state.session, state.taste):
        assert bank.total.sum() == pytest.approx(0.2 * items, rel=1e-4)
    await assert_sound(engine)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5))
async def test_erasures_of_random_clients_leave_no_trace(tmp_path, seed):
    draw = np.random.default_rng(seed)
    engine = make_engine(tmp_path, min_support=int(draw.integers(1, 4)))
    await engine.open()
    try:
        await create_clients(engine)
        events = await record_history(engine, 20 + seed, 150)
        for _ in range(5):
            key = (
                user_key(int(draw.integers(USERS)))
                if draw.random() < 0.6
                else item_key(int(draw.integers(ITEMS)))
            )
            if (await engine.store.find_refs([key]))[0] is None:
                continue
            mine = [one.event_id for one in events if key.id in (one.user_id, one.item_id)]
            (client,) = await engine.store.get_clients(await engine.store.find_refs([key]))
            await engine.forgetting.forget(key, wipe=True)
            words = [client.title, *mine] if client.title else mine
            assert find_in_files(tmp_path, words) == []
            assert await find_in_rows(engine, words) == []
            await assert_sound(engine)
            await assert_masses_add_up(engine)
            events += await record_history(engine, 40 + seed, 20)
    finally:
        await engine.close()


def make_learner(engine, name):
    return Learner(
        engine.store,
        NumbersOwner(engine.data.create_first_view()),
        engine.embedder,
        Leases(engine.store, name, 10),
        engine.data,
    )


async def test_another_process_follows_an_erasure_by_the_log(engine):
    await record_history(engine, 12, 60)
    other = make_learner(engine, "another process")
    await other.open()
    view = other.numbers.view
    assert find_differing_arrays(view.state, engine.numbers.view.state) == []
    await engine.forgetting.forget(user_key(4), wipe=True)
    await engine.record([event(12_500, 5, 5)])
    await engine.drain()
    assert await other.step() == 0  # the engine holds the lease
    assert find_differing_arrays(view.state, engine.numbers.view.state) == []
    assert view.applied_through == engine.numbers.view.applied_through
    other.numbers.close()


async def test_an_idle_process_catches_up_after_new_clients_and_an_erasure(engine):
    """The process missed a block without interactions.

    After the barrier, nothing is left of this block that the process could follow.
    """
    await record_history(engine, 16, 60)
    other = make_learner(engine, "another process")
    await other.open()
    await engine.upsert_clients([ClientChange(key=user_key(900), title="Somebody new")])
    while await engine.learn():
        pass
    await engine.forgetting.forget(user_key(4), wipe=True)
    assert await other.step() == 0
    await other.synchronize()
    assert find_differing_arrays(other.numbers.view.state, engine.numbers.view.state) == []
    other.numbers.close()


async def test_an_erasure_waits_for_a_round_of_another_process(engine, monkeypatch):
    await record_history(engine, 13, 30)
    lease = await engine.store.acquire_lease("round", "another process", 60_000)
    with monkeypatch.context() as patch:
        patch.setattr(leases, "WAIT_SECONDS", 0.2)
        with pytest.raises(LeaseLost, match=r"runs a round.* 0 s"):
            await engine.forgetting.forget(user_key(4), wipe=True)
    forgetting = asyncio.create_task(engine.forgetting.forget(user_key(4), wipe=True))
    await asyncio.sleep(0.3)
    assert not forgetting.done()
    await engine.store.release_lease(lease)
    assert (await forgetting).events_erased > 0


async def take_lease(learner):
    async with learner.hold_lease() as lease:
        return lease


@pytest.mark.slow
async def test_a_learner_gives_its_lease_to_a_process_that_erases(engine):
    await record_history(engine, 15, 40)
    other = make_learner(engine, "another process")
    third = make_learner(engine, "a third one")
    await other.open()
    await third.open()
    settling = asyncio.create_task(take_lease(other))
    while not settling.done():
        await third.step()  # tries to get the lease more often than `other`, which asked for it
        await engine.learn()
        await asyncio.sleep(0.02)
    assert (
        (await settling).holder == await engine.store.get_lease_holder("learn") == "another process"
    )
    await engine.record([event(15_500, 5, 5)])
    assert (await engine.learn(), await third.step()) == (0, 0)
    assert await other.step() > 0
    forgetting = asyncio.create_task(engine.forgetting.forget(user_key(4), wipe=True))
    while not forgetting.done():
        await other.step()
        await asyncio.sleep(0.02)
    assert (await forgetting).events_erased > 0
    assert await engine.store.get_lease_holder("learn") == engine.leases.holder
    await engine.record([event(15_501, 5, 5)])
    await engine.drain()
    assert await other.step() == 0
    assert find_differing_arrays(other.numbers.view.state, engine.numbers.view.state) == []
    other.numbers.close()
    third.numbers.close()


async def test_weights_are_subtracted_where_an_evolution_moved_them(engine):
    """Weights are stored by the routers of their epoch.

    The maps of later runs lead from there to the present routers.
    """
    events = await record_history(engine, 14, 60)
    sequence = await engine.store.get_learned_through()
    swapped = np.array([1, 0, 2, 3])
    maps = RouterMaps(
        (
            RouterMap(
                run=1,
                through=sequence,
                from_epoch=0,
                to_epoch=1,
                home=swapped,
                routers=4,
                centres=np.zeros((4, 48), np.float32),
            ),
        )
    )

    rows = [
        row
        for _, row in await engine.store.get_event_states([events[0].event_id, events[1].event_id])
    ]
    written = await engine.store.get_learned_weights([row.sequence for row in rows])
    moved = map_to_current_routers(written, rows, maps)
    assert np.array_equal(moved.routers[:, 1], swapped[written.routers[:, 1]])
    assert np.array_equal(moved.routers[:, 0], written.routers[:, 0])
