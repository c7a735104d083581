"""A router whose summary fails is left out of its round.

Its arrivals are integrated in the next round.
"""

import asyncio
from contextlib import asynccontextmanager
from dataclasses import replace

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
    LeaseLost,
    NewInteraction,
    ReasonerFailed,
)
from propagation.workflow.compose import compose
from propagation.workflow.concurrency import Leases
from propagation.workflow.settings import BankSettings, WorkflowSettings
from services.runtime.process import SystemClock

SETTINGS = WorkflowSettings(
    session=BankSettings(k=4),
    taste=BankSettings(k=6),
    table_edges=2,
    auto_create=True,
    update_size=1_000,
)


class Silent(OfflineReasoner):
    """Fails to summarise some routers."""

    def __init__(self):
        super().__init__()
        self.silent = frozenset()
        self.asked = []

    async def summarize(self, routers):
        self.asked.extend(one.router for one in routers)
        answer = await super().summarize(routers)
        return replace(
            answer,
            summaries=[
                ReasonerFailed("the model timed out") if one.router in self.silent else summary
                for one, summary in zip(routers, answer.summaries, strict=True)
            ],
        )


@asynccontextmanager
async def open_engine(folder):
    store = SqliteStore(folder / "graph.db", SystemClock())
    engine = compose(
        store,
        HashedEmbedder(SETTINGS.seed),
        NumpyIndex(SqlitePoints(store.database)),
        Silent(),
        SETTINGS,
        "test",
    )
    await engine.open()
    try:
        yield engine
    finally:
        await engine.close()


def make_folder(tmp_path, name):
    """Make a folder for a store of its own."""
    (tmp_path / name).mkdir()
    return tmp_path / name


async def record_history(engine, start=0):
    await engine.upsert_clients(
        [
            ClientChange(
                key=ClientKey(kind=ClientKind.ITEM, id=f"i{n}"),
                title=f"Record {n}",
                attributes=(("jazz", "opera", "folk", "punk")[n % 4],),
            )
            for n in range(20)
        ]
    )
    await engine.record(
        [
            NewInteraction(
                event_id=f"e{start + n}",
                user_id=f"u{n % 5}",
                item_id=f"i{(start + n * 7) % 20}",
                time=n,
                content_hash="same",
            )
            for n in range(30)
        ]
    )
    await engine.drain()


async def read_parts(engine, router):
    """Return the parts of the router's current message: (attribute, client)."""
    versions = {
        version.router: version.version
        for version in await engine.store.get_router_versions(range(6))
    }
    if router not in versions:
        return set()
    whole = await engine.store.get_router_version(router, versions[router])
    return {(part.attribute, part.ref) for part in whole.integrated}


async def read_parts_without_failure(folder):
    async with open_engine(folder) as engine:
        await record_history(engine)
        await engine.run_round()
        return {router: await read_parts(engine, router) for router in range(6)}


async def crash_before_publication(engine, monkeypatch):
    """Run a round that stages everything and then fails."""

    async def raise_lost(*_):
        raise LeaseLost("gone")

    monkeypatch.setattr(engine.store, "publish_round", raise_lost)
    with pytest.raises(LeaseLost):
        await engine.run_round()
    monkeypatch.undo()


async def publish_as_evolution(engine):
    """Publish the next round's number without a round, as an evolution does."""
    boundary = (await engine.store.get_last_round()).boundary
    lease = await engine.store.acquire_lease("round", "test", 1_000)
    await engine.store.publish_round(lease, await engine.store.begin_round(lease, boundary))
    await engine.store.release_lease(lease)


async def test_only_the_failing_router_is_left_out_and_the_next_round_has_what_arrived_there(
    tmp_path,
):
    whole = await read_parts_without_failure(make_folder(tmp_path, "sound"))
    failing = max(whole, key=lambda router: len(whole[router]))
    async with open_engine(tmp_path) as engine:
        await record_history(engine)
        engine.reasoner.silent = frozenset({failing})
        done = await engine.run_round()
        assert engine.rounds.postponed == {failing: ReasonerFailed.public_reason}
        assert done.touched == sum(bool(found) for found in whole.values()) - 1
        assert {router: await read_parts(engine, router) for router in range(6)} == {
            **whole,
            failing: set(),
        }
    async with open_engine(
        tmp_path
    ) as engine:  # postponed routers survive a restart, and need no changed client
        done = await engine.run_round()
        assert (done.touched, done.changed) == (1, 0)
        assert engine.reasoner.asked == [failing]
        assert await read_parts(engine, failing) == whole[failing]
        assert engine.rounds.postponed == {}
        assert await engine.run_round() is None


async def test_what_was_left_out_waits_through_rounds_that_fail_again(tmp_path):
    async with open_engine(tmp_path) as engine:
        await record_history(engine)
        engine.reasoner.silent = frozenset(range(6))
        done = await engine.run_round()
        assert done.touched == 0
        waiting = set(engine.rounds.postponed)
        await record_history(engine, start=100)
        await engine.run_round()
        engine.reasoner.silent = frozenset()
        done = await engine.run_round()
        assert done.touched == len(engine.reasoner.asked[-done.touched :]) >= len(waiting)
        arrived = {part for router in range(6) for part in await read_parts(engine, router)}
        assert {attribute for attribute, _ in arrived} == {"jazz", "opera", "folk", "punk"}


async def test_what_an_unpublished_round_left_out_is_not_read(tmp_path, monkeypatch):
    async with open_engine(tmp_path) as engine:
        await record_history(engine)
        engine.reasoner.silent = frozenset(range(6))
        await crash_before_publication(engine, monkeypatch)
        engine.reasoner.silent = frozenset()
        assert (await engine.run_round()).touched > 0
        assert engine.rounds.postponed == {}
        assert await engine.run_round() is None


async def test_what_was_left_out_waits_through_a_publication_that_is_no_round_of_its_own(tmp_path):
    """An evolution publishes a round's number without a round."""
    async with open_engine(tmp_path) as engine:
        await record_history(engine)
        engine.reasoner.silent = frozenset(range(6))
        await engine.run_round()
        await publish_as_evolution(engine)
        engine.reasoner.silent = frozenset()
        assert (await engine.run_round()).touched > 0
        assert await engine.run_round() is None


async def test_an_evolution_that_takes_a_crashed_rounds_number_loses_no_arrivals(
    tmp_path, monkeypatch
):
    whole = await read_parts_without_failure(make_folder(tmp_path, "sound"))
    async with open_engine(make_folder(tmp_path, "second")) as engine:
        await record_history(engine)
        engine.reasoner.silent = frozenset(range(6))
        await engine.run_round()
        engine.reasoner.silent = frozenset()
        await crash_before_publication(engine, monkeypatch)
        await publish_as_evolution(engine)
        assert (await engine.run_round()).touched > 0
        assert {router: await read_parts(engine, router) for router in range(6)} == whole


async def test_a_round_after_an_evolution_that_crashes_loses_no_arrivals(tmp_path, monkeypatch):
    whole = await read_parts_without_failure(make_folder(tmp_path, "sound"))
    async with open_engine(make_folder(tmp_path, "second")) as engine:
        await record_history(engine)
        engine.reasoner.silent = frozenset(range(6))
        await engine.run_round()
        await publish_as_evolution(engine)
        engine.reasoner.silent = frozenset()
        await crash_before_publication(engine, monkeypatch)
        assert (await engine.run_round()).touched > 0
        assert {router: await read_parts(engine, router) for router in range(6)} == whole
        assert await engine.run_round() is None


@pytest.mark.slow
async def test_the_lease_is_held_for_as_long_as_a_round_takes(tmp_path):
    async with open_engine(tmp_path) as engine:
        engine.leases.seconds = 0.24
        await record_history(engine)
        slow, others = engine.reasoner.summarize, []

        async def run_slowly(*arguments):
            await asyncio.sleep(0.4)
            others.append(await engine.store.acquire_lease("round", "another", 1_000))
            return await slow(*arguments)

        engine.reasoner.summarize = run_slowly
        assert (await engine.run_round()).touched == len(others)
        assert set(others) == {None}
        assert await engine.store.acquire_lease("round", "another", 1_000) is not None, (
            "it is given back at the end"
        )


async def test_a_lease_held_by_another_is_not_given(tmp_path):
    store = SqliteStore(tmp_path / "graph.db", SystemClock())
    await store.open()
    async with (
        Leases(store, "one", 1).hold("work") as first,
        Leases(store, "two", 1).hold("work") as second,
    ):
        assert first is not None
        assert second is None
    await store.close()


async def test_names_that_a_failed_round_mapped_are_gone_at_the_next_one(tmp_path, monkeypatch):
    async with open_engine(tmp_path) as engine:
        await record_history(engine)
        names = engine.vectors.canonical
        stage = engine.rounds._stage

        async def map_before(*arguments):
            names.add({"bebop": "jazz"})  # as a round does before it is published
            await stage(*arguments)

        monkeypatch.setattr(engine.rounds, "_stage", map_before)
        await crash_before_publication(engine, monkeypatch)
        await engine.run_round()
        assert "bebop" not in names.targets
