"""Time travel and watching across evolutions."""

import pytest

from propagation.adapters.sqlite.store import SqliteStore
from propagation.model import TooNew, TooOld
from propagation.workflow.data_settings import DataSettings, build_data_settings_blob
from propagation.workflow.history.time_travel import TimeTravel
from propagation.workflow.history.watch import (
    Position,
    Watcher,
    WatchEventKind,
    get_newest_position,
)
from tests.contract.graph.test_graph_evolution import REPORT, stage_publication
from tests.contract.graph_store import (
    TurnedClock,
    edge,
    learn_all,
    message,
    record_pairs,
    run_round,
    user,
)

ANN, BOB = user(0), user(1)


@pytest.fixture
async def store(tmp_path):
    made = SqliteStore(tmp_path / "graph.db", TurnedClock())
    await made.open()
    yield made
    await made.close()


async def record_evolution(store):
    """Publish messages of routers 1 to 3, then an evolution.

    It splits router 1 into 1 and 4, and merges router 3 into 2.

    Returns:
        (the last sequence before the evolution, the run).
    """
    made_with = DataSettings(
        session_k=4, taste_k=4, embedder="hashed", dimension=2, reasoner="offline", seed=7
    )
    await store.put_blob(build_data_settings_blob(0), made_with.blob)
    await record_pairs(store, ("u0", "i0"), ("u1", "i1"))
    await learn_all(store)
    await run_round(
        store,
        versions=tuple(message(router, 1, BOB) for router in (1, 2, 3)),
        opened=(edge(3, ANN), edge(1, BOB)),
    )
    await learn_all(store)
    before = await store.get_recorded_through()
    return before, await store.publish_evolution(*await stage_publication(store))


async def test_before_an_evolution_the_old_routers_are_shown_and_after_it_the_new_ones(store):
    before, run = await record_evolution(store)
    past = TimeTravel(store)
    old, new = await past.get_routers(before), await past.get_routers(run.sequence)
    assert [(one.number, one.epoch, one.retired) for one in new] == [
        (number, 1, number == 3) for number in range(5)
    ]
    assert {one.number: one.members for one in new if not one.retired} == {0: 0, 1: 1, 2: 0, 4: 1}
    assert not any(one.retired for one in old)
    assert [(one.number, one.epoch, one.members) for one in old] == [
        (0, 0, 0),
        (1, 0, 1),
        (2, 0, 0),
        (3, 0, 1),
    ]
    assert [one.ref for one in await past.get_members(3, before, 9)] == [ANN]
    assert [one.ref for one in await past.get_members(4, before, 9)] == []
    assert [one.ref for one in await past.get_members(4, run.sequence, 9)] == [ANN]


async def test_the_sequences_and_times_that_can_be_shown(store):
    before, run = await record_evolution(store)
    past, ms = TimeTravel(store), TurnedClock().ms
    assert await past.check_sequence(run.sequence) == run.sequence
    with pytest.raises(TooNew, match=f"the newest sequence is {run.sequence}"):
        await past.check_sequence(run.sequence + 1)
    assert await past.get_sequence_at_time(ms, ms) == run.sequence
    assert await past.get_sequence_at_time(ms - 1, ms) == 0
    with pytest.raises(TooNew, match="2023-11-14"):
        await past.get_sequence_at_time(ms + 1, ms)
    while await store.prune(before, 100) is not None:
        pass
    with pytest.raises(TooOld, match=f"the oldest is {before}"):
        await past.get_sequence_at_time(ms - 1, ms)


async def read_events(watch):
    return [one async for one in watch.step()]


async def test_published_and_refused_runs_are_sent_once_in_order(store):
    begun = await get_newest_position(store)
    await record_evolution(store)
    refused = await store.save_evolution(REPORT)
    watch = Watcher(store, [WatchEventKind.EVOLUTION], begun, begun)
    events = await read_events(watch)
    assert [(one.run, one.published) for one, _ in events] == [(1, True), (2, False)]
    assert events[1][0] == refused
    assert await read_events(watch) == []
    (after_first, *_), (_, position) = events[1], events[0]
    assert [
        one
        for one, _ in await read_events(
            Watcher(store, [WatchEventKind.EVOLUTION], position, position)
        )
    ] == [after_first]


async def test_an_evolutions_round_is_sent_with_its_messages(store):
    _, run = await record_evolution(store)
    watch = Watcher(store, list(WatchEventKind), Position(), Position())
    sent = [
        one for one, _ in await read_events(watch) if getattr(one, "sequence", 0) == run.sequence
    ]
    assert [type(one).__name__ for one in sent] == ["Round", "RouterVersion", "EvolutionRun"]
