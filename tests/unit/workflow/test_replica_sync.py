"""Two engines on one graph and one index, like two processes.

The views of each engine follow the commits of the other one."""

import asyncio
from contextlib import asynccontextmanager, suppress

import numpy as np
import pytest

from propagation.adapters.numpy.index import NumpyIndex
from propagation.adapters.offline.embedder import HashedEmbedder
from propagation.adapters.offline.reasoner import OfflineReasoner
from propagation.adapters.sqlite.index.points import SqlitePoints
from propagation.adapters.sqlite.store import SqliteStore
from propagation.model import (
    ClientChange,
    ClientKey,
    ClientKind,
    InvalidInput,
    LeaseHeld,
    NewInteraction,
    StoreUnreachable,
    index_of,
)
from propagation.workflow.compose import compose
from propagation.workflow.learn.rebuild import rebuild_view
from propagation.workflow.read.recommend import RecommendRequest
from propagation.workflow.settings import BankSettings, WorkflowSettings
from services.cli.operator.doctor import check_view
from services.runtime.process import SystemClock
from tests.unit.workflow.learn.comparison import find_differing_arrays

SETTINGS = WorkflowSettings(
    lease_seconds=1,
    session=BankSettings(k=4),
    taste=BankSettings(k=4),
    table_edges=2,
    auto_create=True,
    update_size=1_000,
    bootstrap_items=1_000,
)


class Shared:
    """A store that the test opens and closes, not the engine."""

    def __init__(self, store):
        self._store = store

    def __getattr__(self, name):
        return getattr(self._store, name)

    async def open(self):
        return None

    async def close(self):
        return None


@asynccontextmanager
async def open_two_engines(folder):
    store = SqliteStore(folder / "graph.db", SystemClock())
    await store.open()
    index = NumpyIndex(SqlitePoints(store.database))
    engines = [
        compose(
            Shared(store),
            HashedEmbedder(SETTINGS.seed),
            index,
            OfflineReasoner(),
            SETTINGS,
            name,
        )
        for name in "ab"
    ]
    for engine in engines:
        await engine.open()
    try:
        yield engines
    finally:
        for engine in engines:
            await engine.close()
        await store.close()


@pytest.fixture
async def engines(tmp_path):
    async with open_two_engines(tmp_path) as engines:
        await engines[0].upsert_clients(
            [
                ClientChange(
                    key=ClientKey(kind=ClientKind.ITEM, id=f"i{n}"),
                    title=f"Record {n}",
                    attributes=(("jazz", "opera")[n % 2],),
                )
                for n in range(20)
            ]
        )
        yield engines


async def push(engine, user, *items):
    return await engine.record(
        [
            NewInteraction(
                event_id=f"{user}-{n}", user_id=user, item_id=f"i{n}", time=n, content_hash="c"
            )
            for n in items
        ]
    )


async def find_ref(engine, user):
    [ref] = await engine.store.find_refs([ClientKey(kind=ClientKind.USER, id=user)])
    return ref


async def list_recommended(engine, user):
    found = await engine.recommender.recommend(RecommendRequest(user_id=user, limit=100))
    return {item.item_id for item in found.items}


def copy_profiles(engine):
    view = engine.numbers.view
    return view.state.user_profile[: view.users].copy(), view.state.item_profile[
        : view.items
    ].copy()


async def test_what_one_recorded_the_other_leaves_out_before_anybody_learned_it(engines):
    here, there = engines
    await push(here, "ann", 1, 2, 3)
    await here.drain()
    assert await there.learn() == 0, "the other one learns; this one follows"
    assert {"i1", "i2", "i3"}.isdisjoint(await list_recommended(there, "ann"))
    await push(here, "ann", 7, 8)
    await push(there, "ann", 9)
    assert await there.follow() > 0
    for engine in engines:
        await engine.follow()
        assert {"i7", "i8", "i9"}.isdisjoint(await list_recommended(engine, "ann"))
        assert await engine.follow() == 0
    await here.drain()
    await there.learn()
    assert len(there.memory.pending_events) == len(here.memory.pending_events) == 0
    assert {"i7", "i8", "i9"}.isdisjoint(await list_recommended(there, "ann"))


async def test_profiles_that_one_wrote_are_in_the_others_numbers(engines):
    here, there = engines
    for user in ("ann", "bob", "cid"):
        await push(here, user, 1, 3, 5)
    await here.drain()
    await here.run_round()
    await push(here, "ann", 4)
    await here.drain()
    await there.learn()
    assert not copy_profiles(there)[0].any()
    assert await there.follow() > 0
    for mine, theirs in zip(copy_profiles(here), copy_profiles(there), strict=True):
        assert mine.any()
        np.testing.assert_array_equal(mine, theirs)
    assert find_differing_arrays(here.numbers.view.state, there.numbers.view.state) == []
    await push(there, "bob", 6)
    await here.learn()
    await there.learn()
    await there.reason()
    await here.follow()
    row = index_of(await find_ref(here, "bob"))
    np.testing.assert_array_equal(copy_profiles(here)[0][row], copy_profiles(there)[0][row])
    assert await here.follow() == await there.follow() == 0


async def test_texts_that_the_other_wrote_are_gone_on_with(engines):
    here, there = engines
    await push(here, "ann", 1)
    await here.drain()
    await there.learn()
    await there.follow()
    await push(there, "ann", 2)
    await here.learn()
    await there.learn()
    assert await there.reason() > 0
    await push(here, "ann", 3)
    await here.drain()
    text = await here.store.load_texts([await find_ref(here, "ann")])
    lines = " ".join(line.text for found in text.values() for line in found.profile.lines)
    assert all(f"Record {n}" in lines for n in (1, 2, 3))
    assert await here.store.get_dead_letters(9) == []


async def test_attributes_that_one_mapped_the_other_knows_by_its_next_round(engines):
    here, there = engines
    for user in ("ann", "bob"):
        await push(here, user, 0, 2, 4)
    await here.drain()
    assert await here.run_round() is not None
    synonym = [
        ClientChange(key=ClientKey(kind=ClientKind.ITEM, id=f"i{n}"), attributes=("jazz music",))
        for n in (10, 12)
    ]
    await here.upsert_clients(synonym)
    await here.drain()
    assert await here.run_round() is not None
    assert here.vectors.canonical.targets["jazz music"] == "jazz"
    assert "jazz music" not in there.vectors.canonical.targets
    await there.learn()
    assert await there.follow() > 0
    assert there.vectors.canonical.targets == here.vectors.canonical.targets
    more = [
        ClientChange(key=ClientKey(kind=ClientKind.ITEM, id="i14"), attributes=("opera singing",))
    ]
    await here.upsert_clients(more)
    await here.drain()
    assert await here.run_round() is not None
    known = dict(here.vectors.canonical.targets)
    await there.learn()
    while await there.reason():
        pass
    await push(there, "cid", 14)
    await there.learn()
    await here.learn()
    while await there.reason():
        pass
    assert await there.run_round() is not None, "a round begins with what was published before it"
    assert known.items() <= there.vectors.canonical.targets.items()


async def test_a_new_client_is_described_by_one_of_them_alone(engines):
    described = []

    class CountingReasoner(OfflineReasoner):
        async def extract(self, clients):
            described.extend(client.key.id for client in clients)
            await asyncio.sleep(0.05)
            return await super().extract(clients)

    for engine in engines:
        engine.cold_start.reasoner = CountingReasoner()
        await engine.learn()
    while any(await asyncio.gather(*(engine.reason() for engine in engines))):
        pass
    assert sorted(described) == sorted(f"i{n}" for n in range(20))
    through = await engines[0].store.get_learned_through()
    for engine in engines:
        assert await engine.reason() == 0
        assert engine.cold_start.get_described_through(through) == through, (
            "no client waits to be described"
        )


async def test_clients_are_described_when_the_process_that_began_with_them_has_died(engines):
    here, there = engines
    for engine in engines:
        await engine.learn()
    assert await here.store.acquire_lease("describe", "a", 300)
    assert await there.reason() == 0, "the other one describes them"
    await asyncio.sleep(0.4)
    assert await there.reason() > 0
    assert there.cold_start.get_described_through(1_000) == 1_000


async def test_one_of_them_runs_a_round_at_a_time(engines):
    here, there = engines
    lease = await here.store.acquire_lease("round", "a", 60_000)
    with pytest.raises(LeaseHeld):
        await there.run_round()
    await here.store.release_lease(lease)
    await push(here, "ann", 1)
    await here.drain()
    assert await there.run_round() is not None


async def open_unmet_epoch(here, there):
    for user in ("ann", "bob", "cid"):
        await push(here, user, 1, 3, 5)
    await here.drain()
    await there.learn()
    await there.follow()
    return await here.init()


async def test_an_epoch_that_one_opened_is_the_others_too(engines):
    here, there = engines
    epoch = await open_unmet_epoch(here, there)
    await push(here, "ann", 7)
    await here.drain()
    await there.learn()
    await there.follow()
    assert there.numbers.view.epoch == epoch.number
    assert there.embedder.name == here.embedder.name == epoch.embedder
    assert find_differing_arrays(here.numbers.view.state, there.numbers.view.state) == []
    for mine, theirs in zip(copy_profiles(here), copy_profiles(there), strict=True):
        np.testing.assert_allclose(mine, theirs, atol=1e-6)
    assert await list_recommended(there, "ann") == await list_recommended(here, "ann")


async def test_a_bootstrap_that_is_due_for_both_is_one(engines, monkeypatch):
    here, there = engines
    epoch = await open_unmet_epoch(here, there)
    await give_up_lease(here)

    async def return_true():
        return True  # as `there` would have found before `here` opened the epoch

    monkeypatch.setattr(there.stage0, "_is_due", return_true)
    await push(here, "ann", 7)
    there.learner._behind = False
    assert await there.learn() > 0
    assert (
        (await there.store.get_current_epoch()).number == epoch.number == there.numbers.view.epoch
    )
    await assert_as_rebuilt(there)


async def test_an_epoch_is_opened_on_what_others_learned_meanwhile(engines):
    here, there = engines
    await open_unmet_epoch(here, there)
    await push(here, "ann", 7, 9)
    await here.drain()  # the view of `there` stays behind
    await give_up_lease(here)
    epoch = await there.init()
    assert epoch.number == 2
    await assert_as_rebuilt(there)
    assert there.numbers.view.applied_through == await there.store.get_learned_through()
    while await here.learn():
        pass
    await here.follow()
    assert find_differing_arrays(here.numbers.view.state, there.numbers.view.state) == []


async def forget_bob(engine):
    await engine.forgetting.forget(ClientKey(kind=ClientKind.USER, id="bob"))


async def try_undo(engine):
    with pytest.raises(InvalidInput):
        await engine.evolve(undo=99)


@pytest.mark.parametrize("meeting", [forget_bob, try_undo])
async def test_an_epoch_that_one_opened_is_met_by_the_other_outside_of_learning(engines, meeting):
    here, there = engines
    epoch = await open_unmet_epoch(here, there)
    await give_up_lease(here)
    await meeting(there)
    assert there.numbers.view.epoch == epoch.number, "met where it caught up"
    await there.learn()
    await there.follow()
    await here.learn()
    await here.follow()
    for mine, theirs in zip(copy_profiles(here), copy_profiles(there), strict=True):
        assert mine.any()
        np.testing.assert_allclose(mine, theirs, atol=1e-6)


async def give_up_lease(engine):
    """Release the lease, as if the process stopped and learned nothing more."""
    await engine.store.release_lease(engine.learner._lease)


async def assert_as_rebuilt(engine):
    view = await rebuild_view(engine.store, engine.embedder, engine.data.create_first_view())
    assert (view.epoch, view.applied_through) == (
        engine.numbers.view.epoch,
        engine.numbers.view.applied_through,
    )
    assert find_differing_arrays(view.state, engine.numbers.view.state) == []


async def test_who_learns_next_learns_in_the_epoch_that_was_opened(engines):
    here, there = engines
    for user in ("ann", "bob"):
        await push(here, user, 1, 3, 5)
    await here.drain()
    await there.learn()
    for n in range(5):
        await push(
            here, f"late-{n}", 2, 4
        )  # so that the log has many events before the epoch's entry
    epoch = await here.init()
    await give_up_lease(here)
    there.learner._block = 1
    while await there.learn():
        assert there.numbers.view.epoch == epoch.number
    await here.learn()
    await assert_as_rebuilt(there)
    assert find_differing_arrays(here.numbers.view.state, there.numbers.view.state) == []


async def test_what_one_took_back_the_other_does_not_bring_back_when_it_takes_back(engines):
    here, there = engines
    for user in ("ann", "bob", "cid"):
        await push(here, user, 1, 3, 5)
    await here.drain()
    await there.learn()
    await here.forgetting.retract(["ann-1", "ann-3"])
    await give_up_lease(here)
    await there.forgetting.retract(["bob-1"])
    await assert_as_rebuilt(there)
    state, row = there.numbers.view.state, index_of(await find_ref(there, "ann"))
    assert state.history_length[row] == 1


async def test_who_was_forgotten_by_one_is_in_no_memory_of_the_other(engines):
    here, there = engines
    for user in ("ann", "bob", "cid"):
        await push(here, user, 1, 3, 5)
    await here.drain()
    await there.learn()
    await there.follow()
    row, item = index_of(await find_ref(here, "bob")), 1
    assert copy_profiles(there)[0][row].any()
    assert there.memory.catalogue.titles[item] == "Record 1"
    await here.forgetting.forget(ClientKey(kind=ClientKind.USER, id="bob"))
    await here.forgetting.forget(ClientKey(kind=ClientKind.ITEM, id="i1"))
    await push(here, "ann", 7)
    await here.drain()
    await there.learn()
    await there.follow()
    assert not copy_profiles(there)[0][row].any()
    assert not copy_profiles(there)[1][item].any()
    assert there.memory.catalogue.titles[item] == ""
    for mine, theirs in zip(copy_profiles(here), copy_profiles(there), strict=True):
        np.testing.assert_array_equal(mine, theirs)


@pytest.mark.slow
async def test_a_view_that_could_not_be_read_again_at_a_barrier_is_read_at_the_next_step(
    engines, monkeypatch
):
    """The other engine forgot a user, and nothing was learned after it.

    Only the barrier shows that the view is stale.
    """
    here, there = engines
    for user in ("ann", "bob"):
        await push(here, user, 1, 3, 5)
    await here.drain()
    await there.learn()
    await there.forgetting.forget(ClientKey(kind=ClientKind.USER, id="ann"))
    await there.store.release_lease(there.learner._lease)
    read, failed = here.store.get_newest_checkpoint, []

    async def fail_once(*_):
        if not failed:
            failed.append(True)
            raise StoreUnreachable("the graph is away")
        return await read()

    monkeypatch.setattr(here.store, "get_newest_checkpoint", fail_once, raising=False)
    for _ in range(3):
        with suppress(StoreUnreachable):
            await here.learn()
    assert failed
    assert find_differing_arrays(here.numbers.view.state, there.numbers.view.state) == []


async def test_doctor_looks_while_another_process_learns(engines):
    one, looking = engines
    await push(one, "ann", 1, 2, 3)
    await one.drain()
    assert looking.numbers.view.applied_through < await looking.store.get_learned_through()
    assert not (await check_view(looking)).problem
    looking.numbers.view.applied_through += 1
    assert "reach sequence" in (await check_view(looking)).problem


@pytest.mark.slow
async def test_a_comparison_of_the_index_while_another_process_commits_makes_nothing_good(
    engines, monkeypatch
):
    """The other process commits between the reads of index and graph."""
    one, looking = engines
    await push(one, "ann", 1, 2, 3)
    await one.drain()
    await looking.index_maintenance.repair()
    assert await looking.index_maintenance.repair() == 0
    numbers, read = iter(range(4, 20)), looking.store.get_text_versions

    async def commit_and_read(*refs):
        await push(one, "bob", next(numbers))
        await one.drain()
        return await read(*refs)

    monkeypatch.setattr(looking.store, "get_text_versions", commit_and_read, raising=False)
    assert await looking.index_maintenance.repair() == 0


async def test_answers_at_the_same_time_ask_for_the_watermark_of_texts_once(engines, monkeypatch):
    here, _ = engines
    read, asked = here.store.get_reasoned_through, []

    async def count_and_read():
        asked.append(1)
        return await read()

    monkeypatch.setattr(here.store, "get_reasoned_through", count_and_read, raising=False)
    await asyncio.gather(*(here.get_reasoned_through() for _ in range(8)))
    assert len(asked) == 1
    await here.get_reasoned_through(exact=True)
    assert len(asked) == 2, "an exact answer is read anew"
