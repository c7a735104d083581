"""Bootstrap killed in the middle did not happen; killed after its commit it did, and the next start
finishes what lagged."""

import multiprocessing
import os
import signal

import numpy as np
import pytest

from propagation.model import ClientChange, ClientKey, ClientKind, NewInteraction
from propagation.workflow.learn.rebuild import rebuild_view
from propagation.workflow.settings import BankSettings, WorkflowSettings
from services.assembly import build_engine
from services.config.settings import Settings
from tests.unit.workflow.learn.comparison import find_differing_arrays

pytestmark = pytest.mark.slow

ITEMS, USERS, EVENTS = 40, 10, 150
BEFORE = (
    "fitting the embedder on the catalogue",
    "finding the routers' centres",
    "learning all interactions again",
)
AFTER = ("embedding profiles, attributes and routers", "writing the routers' first profiles")
SMALL = WorkflowSettings(
    session=BankSettings(k=4),
    taste=BankSettings(k=6),
    table_edges=2,
    update_size=5,
    auto_create=True,
)


class Killed(BaseException):
    """The process is gone at this step."""


def make_engine(folder):
    return build_engine(Settings(database=folder / "graph.db", workflow=SMALL))


async def record_history(engine):
    """A catalogue and some events, all learned and reasoned."""
    draw = np.random.default_rng(5)
    await engine.upsert_clients(
        [
            ClientChange(
                key=ClientKey(kind=ClientKind.ITEM, id=f"i{n}"),
                title=f"Record {n}",
                attributes=(("jazz", "opera", "folk", "punk")[n % 4],),
            )
            for n in range(ITEMS)
        ]
    )
    await engine.record(
        [
            NewInteraction(
                event_id=f"e{n}",
                user_id=f"u{draw.integers(USERS)}",
                item_id=f"i{draw.integers(ITEMS)}",
                time=n,
                content_hash=f"e{n}",
            )
            for n in range(EVENTS)
        ]
    )
    await engine.drain()


async def read_visible_state(engine):
    """Return what a caller can see of a database: two that are equal in it are equal to callers."""
    store = engine.store
    texts = await store.load_texts(sorted(await store.get_text_versions()))
    return (
        await store.get_current_epoch(),
        await store.get_recorded_through(),
        await store.get_learned_through(),
        await store.get_last_round(),
        texts,
        await store.get_edges(sorted(texts)),
        engine.embedder.name,
    )


def make_stop(step, stop):
    def stop_at_step(words):
        if words == step:
            stop()

    return stop_at_step


def raise_killed():
    raise Killed


def kill_self():
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.parametrize("step", BEFORE)
async def test_killed_before_its_commit_it_did_not_happen(tmp_path, step):
    engine = make_engine(tmp_path)
    await engine.open()
    await record_history(engine)
    before, state = await read_visible_state(engine), engine.numbers.view.state
    with pytest.raises(Killed):
        await engine.init(make_stop(step, raise_killed))
    await engine.store.close()  # the rest of the process is dropped as it is
    again = make_engine(tmp_path)
    await again.open()
    try:
        assert await read_visible_state(again) == before
        assert find_differing_arrays(again.numbers.view.state, state) == []
        await assert_epoch_is_whole(again, await again.init())
    finally:
        await again.close()


async def assert_epoch_is_whole(engine, epoch):
    assert await engine.store.get_current_epoch() == epoch.model_copy(update={"tau": None})
    assert engine.embedder.name == epoch.embedder
    view = await rebuild_view(engine.store, engine.embedder, engine.data.create_first_view())
    assert find_differing_arrays(view.state, engine.numbers.view.state) == []
    if await engine.is_round_due():
        await engine.run_round()
    assert await engine.index_maintenance.repair() == 0
    assert await engine.store.check() == []
    first = await engine.store.get_last_round()
    assert first.sequence > epoch.sequence
    assert first.changed == len(await engine.store.get_text_versions())
    versions = await engine.store.get_router_versions(range(SMALL.taste.k))
    assert {version.epoch for version in versions} == {epoch.number}


def init_and_die(folder, step):
    import asyncio

    async def run():
        engine = make_engine(folder)
        await engine.open()
        await record_history(engine)
        await engine.init(make_stop(step, kill_self))

    asyncio.run(run())


@pytest.mark.parametrize("step", [BEFORE[-1], *AFTER])
async def test_kill_9_of_a_process_that_bootstraps(tmp_path, step):
    process = multiprocessing.get_context("spawn").Process(
        target=init_and_die, args=(tmp_path, step)
    )
    process.start()
    process.join(120)
    assert process.exitcode == -signal.SIGKILL
    engine = make_engine(tmp_path)
    await engine.open()
    try:
        epoch = await engine.store.get_current_epoch()
        assert (epoch is not None) == (step in AFTER)
        await assert_epoch_is_whole(engine, epoch or await engine.init())
        assert await engine.store.get_recorded_through() > EVENTS
    finally:
        await engine.close()
