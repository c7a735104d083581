"""Interactions go on while clients are described; each has its own clients described first."""

import asyncio
import sqlite3
from contextlib import asynccontextmanager, closing
from dataclasses import replace

from propagation.adapters.numpy.index import NumpyIndex
from propagation.adapters.offline.embedder import HashedEmbedder
from propagation.adapters.offline.reasoner import OfflineReasoner
from propagation.adapters.sqlite.index.points import SqlitePoints
from propagation.adapters.sqlite.store import SqliteStore
from propagation.model import (
    AddLine,
    Author,
    ClientChange,
    ClientKey,
    ClientKind,
    EntryKind,
    Line,
    LogEntry,
    NewInteraction,
)
from propagation.routing import list_own_attributes
from propagation.workflow.compose import compose
from propagation.workflow.reason.description_queue import DescriptionQueue
from propagation.workflow.settings import BankSettings, WorkflowSettings
from services.runtime.process import SystemClock
from tests.waiting import wait_until

ITEMS = 40
SETTINGS = WorkflowSettings(
    session=BankSettings(k=2),
    taste=BankSettings(k=2),
    table_edges=1,
    auto_create=True,
    bootstrap_items=1_000,
    update_size=1_000_000,
    reason_backoff=0,
)


class Writer(OfflineReasoner):
    """Describes one client a call, and waits before each answer, as a model does."""

    asks_model = True
    clients_a_call = 1

    def __init__(self, concurrency, seconds=0.02):
        super().__init__()
        self.concurrency = concurrency
        self.seconds = seconds
        self.asked = []
        self.described = []

    async def extract(self, clients):
        self.asked.append(len(clients))
        await asyncio.sleep(self.seconds)
        self.described += [client.key.id for client in clients]
        return await super().extract(clients)


@asynccontextmanager
async def open_engine(folder, reasoner, process="test", **settings):
    store = SqliteStore(folder / "graph.db", SystemClock())
    index = NumpyIndex(SqlitePoints(store.database))
    chosen = SETTINGS.model_copy(update=settings)
    engine = compose(store, HashedEmbedder(chosen.seed), index, reasoner, chosen, process)
    await engine.open()
    try:
        yield engine
    finally:
        await engine.close()


def item(number, **fields):
    key = ClientKey(kind=ClientKind.ITEM, id=f"i{number}")
    return ClientChange(key=key, **({"title": f"Record {number}"} | fields))


async def record(engine, *items, user="ann"):
    await engine.record(
        [
            NewInteraction(
                event_id=f"{user}-{number}",
                user_id=user,
                item_id=f"i{number}",
                negative_id=f"i{number - 1}",
                time=number,
                content_hash=f"{user}-{number}",
            )
            for number in items
        ]
    )
    await engine.learn()


async def reason_until(engine, is_enough):
    async with asyncio.timeout(20):
        while not await is_enough():
            await engine.reason()


async def reason_all(engine):
    """Reason until no interaction waits, whatever clients still do."""

    async def is_done():
        return (await engine.store.count_backlog()).pending == 0

    await reason_until(engine, is_done)


def count_descriptions(folder):
    """Count by title how often the catalogue's lines of a client were written."""
    with closing(sqlite3.connect(folder / "graph.db")) as connection:
        rows = connection.execute(
            "SELECT ref, count(*) FROM profile_version WHERE written_by = 'offline-1' GROUP BY ref"
        )
        return dict(rows)


async def test_an_interaction_s_clients_are_described_before_all_others(tmp_path):
    for concurrency in (1, 4):
        folder = tmp_path / str(concurrency)
        folder.mkdir()
        reasoner = Writer(concurrency)
        async with open_engine(folder, reasoner) as engine:
            await engine.upsert_clients([item(number) for number in range(ITEMS)])
            await record(engine, ITEMS - 1)
            await reason_all(engine)
            assert {f"i{ITEMS - 1}", f"i{ITEMS - 2}"} <= set(reasoner.described)
            assert len(reasoner.described) < ITEMS / 2
            assert engine.cold_start.outstanding > ITEMS / 2
            assert engine.cold_start.seconds_left > 0
            assert engine.cold_start.get_described_through(1_000) == 0
            await engine.drain()
            assert engine.cold_start.outstanding == 0
            assert engine.cold_start.get_described_through(1_000) == 1_000
            assert sorted(reasoner.described) == sorted(f"i{number}" for number in range(ITEMS))
            texts = await engine.store.get_text_versions()
            refs = await engine.store.find_refs([item(n).key for n in range(ITEMS)])
            assert set(refs) <= set(texts)
            assert await engine.index_maintenance.repair() == 0, "the index equals the graph"
            assert await engine.store.check() == []


async def test_what_is_described_ahead_stays_so_after_a_restart(tmp_path):
    async with open_engine(tmp_path, Writer(2)) as engine:
        await engine.upsert_clients([item(number) for number in range(ITEMS)])
        await record(engine, ITEMS - 1)

        async def is_begun():
            return engine.cold_start.outstanding < ITEMS - 6

        await reason_until(engine, is_begun)
        await engine.cold_start.sweep.settle()
        left = engine.cold_start.outstanding
    before = count_descriptions(tmp_path)
    assert left < ITEMS
    reasoner = Writer(2)
    async with open_engine(tmp_path, reasoner) as engine:
        assert engine.cold_start.outstanding == left
        await engine.upsert_clients([item(ITEMS - 1, title="Renamed")])
        await engine.drain()
        assert len(reasoner.described) == left + 1, "the renamed one is described again"
        [ref] = await engine.store.find_refs([item(ITEMS - 1).key])
        lines = (await engine.store.load_texts([ref]))[ref].profile.lines
        assert any("Renamed" in line.text for line in lines)
        assert not any(f"Record {ITEMS - 1}" in line.text for line in lines)
    after = count_descriptions(tmp_path)
    assert all(after[one] == count + (one == ref) for one, count in before.items())


async def test_a_process_reasons_while_another_one_describes(tmp_path):
    here, there = Writer(2, seconds=0.3), Writer(2)
    async with open_engine(tmp_path, here, "a") as first:
        await first.upsert_clients([item(number) for number in range(ITEMS)])
        await record(first, 3)
        lease = await first.store.acquire_lease("describe", "b", 60_000)
        assert lease is not None
        await reason_all(first)
        assert sorted(here.described) == ["i2", "i3"], "its own clients alone"
        assert first.cold_start.outstanding == ITEMS + 1
        await first.store.release_lease(lease)
        first.cold_start.reasoner = first.cold_start.sweep.reasoner = there
        await first.drain()
        assert first.cold_start.outstanding == 0


async def test_an_erasure_waits_only_for_the_descriptions_under_way(tmp_path):
    reasoner = Writer(2)
    async with open_engine(tmp_path, reasoner) as engine:
        await engine.upsert_clients([item(number) for number in range(ITEMS)])
        await record(engine, 3)

        async def is_begun():
            return engine.cold_start.outstanding < ITEMS - 4

        await reason_until(engine, is_begun)
        await engine.forget(ClientKey(kind=ClientKind.ITEM, id=f"i{ITEMS - 1}"))
        assert len(reasoner.described) < ITEMS / 2
        await engine.drain()
        assert engine.cold_start.outstanding == 0
        assert f"i{ITEMS - 1}" not in reasoner.described
        assert await engine.store.check() == []


async def test_a_text_that_is_written_meanwhile_is_described_on_top_of_it(tmp_path):
    reasoner = Writer(2)
    async with open_engine(tmp_path, reasoner) as engine:
        await engine.upsert_clients([item(0)])
        await engine.drain()
        await engine.upsert_clients([item(0, title="Renamed")])
        await engine.learn()
        reasoner.seconds = 0.3
        engine.cold_start.sweep.begin(0)
        await wait_until(lambda: len(reasoner.asked) == 2)
        [ref] = await engine.store.find_refs([item(0).key])
        text = (await engine.store.load_texts([ref]))[ref]
        chosen = AddLine(line=Line(id=0, text="Chosen.", author=Author.INTERACTION))
        text = replace(text, profile=text.profile.apply_edits([chosen], 12))
        await engine.store.commit_texts([text], (), 3)
        await wait_until(lambda: not engine.cold_start.outstanding)
        await engine.cold_start.sweep.settle()
        assert len(reasoner.asked) == 3, "asked again, on top of the new text"
        lines = (await engine.store.load_texts([ref]))[ref].profile.lines
        assert {line.author for line in lines} == {Author.CATALOGUE, Author.INTERACTION}
        assert "Renamed" in str(lines)
        assert "Record" not in str(lines)


@asynccontextmanager
async def open_bootstrapped(folder, reasoner):
    """Open an engine whose catalogue a model begins to describe, after the first round."""
    async with open_engine(folder, reasoner, bootstrap_items=4, update_size=1) as engine:
        await engine.upsert_clients([item(number) for number in range(ITEMS)])
        await engine.learn(wait_for_model=False)
        await record(engine, 3)
        await reason_all(engine)
        assert await engine.run_round() is not None
        yield engine


async def find_unperceived(engine):
    """Find clients whose attributes no round has read from their text."""
    texts = await engine.store.load_texts([*await engine.store.get_text_versions()])
    held = await engine.store.get_client_attributes([*texts])
    return [ref for ref, text in texts.items() if {*list_own_attributes(text)} != {*held[ref]}]


async def test_rounds_go_on_while_the_catalogue_is_described(tmp_path):
    async with open_bootstrapped(tmp_path, Writer(2, seconds=0.05)) as engine:
        last = await engine.store.get_last_round()
        await record(engine, 7, 9, 11)
        await reason_all(engine)
        outstanding = engine.cold_start.outstanding
        assert outstanding > 10
        round_ = await engine.run_round()
        assert round_.boundary > last.boundary
        changed = await engine.store.find_refs([item(7).key, item(9).key])
        assert not {*changed} & {*await find_unperceived(engine)}
        # A long backlog keeps descriptions from no round: the next interaction is enough.
        await record(engine, 1, 2, 4, 5, 6, 8)
        engine.cold_start.sweep.begin(0)
        await wait_until(lambda: engine.cold_start.outstanding < outstanding / 2)
        described = {*await find_unperceived(engine)}
        assert len(described) > 5
        backlog = (await engine.store.count_backlog()).pending

        async def is_begun():
            return (await engine.store.count_backlog()).pending < backlog

        await reason_until(engine, is_begun)
        await engine.run_round()
        assert not described & {*await find_unperceived(engine)}
        assert (await engine.store.count_backlog()).pending > 0
        # No event comes meanwhile, so descriptions and rounds are at the same sequence.
        while engine.cold_start.outstanding:
            await engine.reason()
            await engine.run_round()
        await engine.run_round()
        assert await find_unperceived(engine) == []
        assert await engine.store.check() == []


async def test_a_description_that_is_committed_during_a_round_is_in_a_later_one(
    tmp_path, monkeypatch
):
    async with open_bootstrapped(tmp_path, Writer(2, seconds=0.01)) as engine:
        store = engine.store
        begun, release = asyncio.Event(), asyncio.Event()
        commit = type(store).commit_texts

        async def commit_late(*args, **fields):
            begun.set()
            await release.wait()
            return await commit(store, *args, **fields)

        async def welcome_nobody(*args):
            return []

        # A welcome would write the texts once more, and hide a description that rounds overlook.
        monkeypatch.setattr(engine.cold_start, "_welcome", welcome_nobody)
        monkeypatch.setattr(store, "commit_texts", commit_late)
        await engine.reason()
        await begun.wait()
        await record(engine, 3, user="bob")
        await reason_all(engine)
        # A round ends one sequence early: an upsert without text lets it reach bob's event.
        await engine.upsert_clients([ClientChange(key=ClientKey(kind=ClientKind.USER, id="cid"))])
        await engine.learn()
        await engine.run_round()
        release.set()
        await engine.drain()
        await engine.run_round()
        assert await find_unperceived(engine) == []


async def test_the_queue_keeps_the_order_of_the_log(tmp_path):
    store = SqliteStore(tmp_path / "graph.db", SystemClock())
    await store.open()
    lease = await store.acquire_lease("describe", "a", 60_000)
    queue = DescriptionQueue(store)
    await queue.open(0)
    entries = [
        LogEntry(sequence=3, kind=EntryKind.CLIENTS, refs=(1, 3)),
        LogEntry(sequence=5, kind=EntryKind.CLIENTS, refs=(1,)),
        LogEntry(sequence=9, kind=EntryKind.CLIENTS, refs=(5,)),
    ]
    queue.take(entries)
    queue.take(entries)
    assert queue.outstanding == {3: 3, 1: 5, 5: 9}
    queue.note_described([(5, 9)])
    await queue.save(lease)
    assert [entry.sequence for entry in queue.entries] == [3, 5, 9], "an earlier one waits"
    queue.note_described([(3, 3), (1, 3)])
    await queue.save(lease)
    assert [entry.sequence for entry in queue.entries] == [5, 9]
    assert queue.outstanding == {1: 5}, "it changed again after it was read"
    follower = DescriptionQueue(store)
    follower.take(entries)
    await follower.follow_others()
    assert follower.outstanding == {1: 5}
    queue.note_described([(1, 5)])
    await queue.save(lease)
    assert not queue.entries
    assert not queue.outstanding
    await follower.follow_others()
    assert not follower.entries
    assert not follower.outstanding
    await store.close()
