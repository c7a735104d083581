"""The first round of a bootstrap is due until it is published.

It gives the routers their first profiles, and may have been stopped in several ways.
"""

import contextlib

import pytest

from propagation.model import (
    ClientChange,
    ClientKey,
    ClientKind,
    NewInteraction,
    ReasonerUnavailable,
)
from propagation.workflow.concurrency import ROUND_LEASE
from propagation.workflow.settings import BankSettings, WorkflowSettings
from services.assembly import build_engine
from services.config.settings import Settings

ITEMS, EVENTS = 20, 100
SETTINGS = WorkflowSettings(
    session=BankSettings(k=4),
    taste=BankSettings(k=4),
    table_edges=2,
    bootstrap_items=1_000,
    auto_create=True,
    update_size=20,
)


@contextlib.asynccontextmanager
async def open_engine(folder, **changed):
    settings = SETTINGS.model_copy(update=changed)
    folder.mkdir(exist_ok=True)
    engine = build_engine(
        Settings(database=folder / "graph.db", reasoning_in="loop", workflow=settings),
    )
    await engine.open()
    try:
        yield engine
    finally:
        await engine.close()


async def record_history(engine):
    await engine.upsert_clients(
        [
            ClientChange(
                key=ClientKey(kind=ClientKind.ITEM, id=f"i{n}"),
                title=f"Record {n % 7} {n}",
                attributes=(f"genre {n % 5}",),
            )
            for n in range(ITEMS)
        ]
    )
    await engine.record(
        [
            NewInteraction(
                event_id=f"e{n}",
                user_id=f"u{n % 6}",
                item_id=f"i{n * 7 % ITEMS}",
                time=n,
                content_hash=str(n),
            )
            for n in range(EVENTS)
        ]
    )
    while await engine.learn():
        pass


async def read_messages(engine):
    """Return the routers' texts and versions, and the edges by client."""
    store = engine.store
    versions = {
        version.router: (version.text, version.version)
        for version in await store.get_router_versions(range(4))
    }
    edges = {
        ref: sorted((edge.router, edge.score) for edge in edges)
        for ref, edges in (await store.get_edges(sorted(await store.get_text_versions()))).items()
        if edges
    }
    return versions, edges


@pytest.fixture
async def undisturbed_messages(tmp_path):
    async with open_engine(tmp_path / "undisturbed") as engine:
        await record_history(engine)
        await engine.init()
        assert not (await engine.rounds.find_pending()).first
        return await read_messages(engine)


def test_routers_say_something(undisturbed_messages):
    versions, edges = undisturbed_messages
    assert len(versions) > 1
    assert len(edges) > ITEMS / 2


async def assert_round_comes(engine, undisturbed):
    assert await engine.is_round_due()
    await engine.run_round()
    assert await read_messages(engine) == undisturbed


async def test_a_process_that_ended_before_it(tmp_path, undisturbed_messages, monkeypatch):
    async with open_engine(tmp_path / "ended") as engine:
        await record_history(engine)
        monkeypatch.setattr(engine.index_maintenance, "reindex", raise_stopped)
        with pytest.raises(OSError, match="the machine stopped"):
            await engine.init()
        assert await engine.store.get_last_round() is None
    async with open_engine(tmp_path / "ended") as engine:
        await assert_round_comes(engine, undisturbed_messages)
        assert not (await engine.rounds.find_pending()).first


async def test_a_reasoner_that_was_away(tmp_path, undisturbed_messages, monkeypatch):
    async with open_engine(tmp_path / "away") as engine:
        await record_history(engine)
        with monkeypatch.context() as patched:
            patched.setattr(engine.reasoner, "summarize", raise_unavailable)
            with pytest.raises(ReasonerUnavailable):
                await engine.init()
        await assert_round_comes(engine, undisturbed_messages)


async def test_another_process_that_ran_a_round_meanwhile(tmp_path, undisturbed_messages):
    async with open_engine(tmp_path / "another") as engine:
        await record_history(engine)
        held = await engine.store.acquire_lease(ROUND_LEASE, "another", 60_000)
        assert held is not None
        await engine.init()
        await engine.store.release_lease(held)
        await assert_round_comes(engine, undisturbed_messages)


async def test_every_bootstrap_has_one_and_only_what_changed_is_in_the_next(
    tmp_path, undisturbed_messages
):
    async with open_engine(tmp_path / "again") as engine:
        await record_history(engine)
        await engine.init()
        first = await engine.store.get_last_round()
        assert await engine.run_round() is None
        await engine.init()
        second = await engine.store.get_last_round()
        assert second.number == first.number + 1
        assert second.changed == len(await engine.store.get_text_versions())


async def raise_stopped(*_):
    raise OSError("the machine stopped")


async def raise_unavailable(*_):
    raise ReasonerUnavailable("down")
