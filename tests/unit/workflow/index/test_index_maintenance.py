"""A missing or outdated index costs freshness, and no data.

The index may be down, empty, or of another model.
"""

import asyncio
from contextlib import asynccontextmanager

import numpy as np
import pytest
from qdrant_client import AsyncQdrantClient

from propagation.adapters.offline.embedder import HashedEmbedder
from propagation.adapters.offline.reasoner import OfflineReasoner
from propagation.adapters.qdrant.index import QdrantIndex, QdrantWriter
from propagation.adapters.qdrant.server import RECONNECT
from propagation.adapters.sqlite.store import SqliteStore
from propagation.model import ClientChange, ClientKey, ClientKind, IndexUnavailable, NewInteraction
from propagation.ports import Collection, Point
from propagation.workflow.compose import compose
from propagation.workflow.index import maintenance, repair
from propagation.workflow.read.recommend import RecommendRequest
from propagation.workflow.settings import BankSettings, WorkflowSettings
from services.runtime.process import SystemClock
from tests import qdrants

pytestmark = [
    pytest.mark.filterwarnings("ignore:Payload indexes have no effect in the local Qdrant"),
    pytest.mark.filterwarnings("ignore:Local mode performs exact"),
]
GENRES = ("opera", "jazz", "folk", "dub")


class LocalConnection:
    """A connection to a local Qdrant, which can be cut.

    The Qdrant survives restarts of the service.
    """

    prefix = "test"

    def __init__(self):
        self.client = AsyncQdrantClient(":memory:")
        self.down = False
        self.frozen = asyncio.Event()
        self.frozen.set()

    async def cut(self):
        self.down = True

    async def mend(self):
        self.down = False

    async def freeze(self):
        self.frozen.clear()

    def reach(self):
        return self

    def __getattr__(self, name):
        found = getattr(self.client, name)

        async def call(*args, **kwargs):
            await self.frozen.wait()
            if self.down:
                raise IndexUnavailable("the vector index does not answer")
            return await found(*args, **kwargs)

        return call

    async def close(self):
        """Do nothing: the server goes on."""


class ServerConnection(qdrants.Relay):
    """A connection to a Qdrant server; only the service uses the relay."""

    def __init__(self, client, prefix):
        super().__init__()
        self.client, self.prefix = client, prefix

    def reach(self):
        return qdrants.connect_to_server(self.port)

    async def freeze(self):
        """Freeze, and wait until gRPC connects again.

        Before that, calls would fail at once.
        """
        await super().freeze()
        await asyncio.sleep(RECONNECT["grpc.max_reconnect_backoff_ms"] / 1_000)


@asynccontextmanager
async def open_local_connection(path):
    connection = LocalConnection()
    yield connection
    await connection.client.close()


@asynccontextmanager
async def open_server_connection(path):
    prefix = qdrants.build_prefix(str(path))
    async with qdrants.open_client(prefix) as client:
        connection = ServerConnection(client, prefix)
        await connection.mend()
        yield connection
        await connection.cut()


CONNECTIONS = {
    "local": open_local_connection,
    **({"server": open_server_connection} if qdrants.THERE else {}),
}


@pytest.fixture(params=sorted(CONNECTIONS))
async def connection(request, tmp_path, monkeypatch):
    monkeypatch.setattr(maintenance, "MIN_AGE_MS", 0)
    async with CONNECTIONS[request.param](tmp_path) as connection:
        yield connection


@asynccontextmanager
async def open_engine(folder, connection, **fields):
    settings = WorkflowSettings(
        session=BankSettings(k=4),
        taste=BankSettings(k=4),
        table_edges=2,
        auto_create=True,
        update_size=1_000,
        **fields,
    )
    made = compose(
        SqliteStore(folder / "graph.db", SystemClock()),
        HashedEmbedder(settings.seed),
        QdrantIndex(connection.reach(), connection.prefix),
        OfflineReasoner(),
        settings,
        "test",
    )
    await made.open()
    try:
        yield made
    finally:
        await made.close()


async def record_history(engine, name, count=12):
    """Create items, record choices of three users, and process them."""
    await engine.upsert_clients(
        [
            ClientChange(
                key=ClientKey(kind=ClientKind.ITEM, id=f"{name} {n}"),
                title=f"{name} {n}",
                categories=(GENRES[n % 4],),
            )
            for n in range(count)
        ]
    )
    await engine.record(
        [
            NewInteraction(
                event_id=f"{name} {n}",
                user_id=f"u{n % 3}",
                item_id=f"{name} {n}",
                time=0,
                content_hash=name,
            )
            for n in range(count)
        ]
    )
    await engine.drain()


async def wait_for_index(engine):
    """Update the index, as the worker does, until it has no problem.

    A client connects again within two seconds.
    """
    async with asyncio.timeout(10):
        while True:
            await engine.update_index()
            if not engine.index_maintenance.problem:
                return
            await asyncio.sleep(0.1)


async def list_collections(connection):
    return [
        found.name
        for found in (await connection.client.get_collections()).collections
        if found.name.startswith(connection.prefix)
    ]


async def open_uncut_index(connection, engine):
    """Open the same index through a connection that is not cut."""
    index = QdrantIndex(connection.client, connection.prefix)
    await index.find_collections(engine.embedder.name, engine.embedder.dimension)
    return index


async def find_differences(engine, index=None):
    """Return the keys of points whose versions differ from the graph."""
    stored, index = await engine.store.get_text_versions(), index or engine.index
    kept = {
        **await index.get_versions(Collection.USERS),
        **await index.get_versions(Collection.ITEMS),
    }
    return {key for key in stored.keys() | kept.keys() if stored.get(key) != kept.get(key)}


async def test_what_the_index_has_leaves_the_outbox(tmp_path, connection):
    async with open_engine(tmp_path, connection) as engine:
        await record_history(engine, "first")
        assert await engine.run_round() is not None
        assert await engine.store.count_changes() > 0
        assert await engine.update_index() == 0, "all of it was written when it was committed"
        assert await engine.store.count_changes() == 0
        assert await find_differences(engine) == set()


async def test_down_for_a_while_costs_freshness_and_no_data(tmp_path, connection):
    async with open_engine(tmp_path, connection) as engine:
        await record_history(engine, "before")
        await engine.update_index()
        await connection.cut()
        await record_history(engine, "meanwhile")
        assert (
            await engine.store.get_reasoned_through() == await engine.store.get_recorded_through()
        ), "everything else goes on"
        assert (await engine.recommender.recommend(RecommendRequest("u1", 5))).items, (
            "reads are answered"
        )
        with pytest.raises(IndexUnavailable):
            await engine.run_round()
        assert await engine.update_index() == 0, "nothing is written meanwhile"
        assert "does not answer" in engine.index_maintenance.problem, "the problem is named"
        assert await engine.store.count_changes() > 0, "the outbox keeps what the index lacks"
        await connection.mend()
        assert (
            await find_differences(engine, await open_uncut_index(connection, engine)) != set()
        ), "the index lags"
        await wait_for_index(engine)
        assert await find_differences(engine) == set(), "it catches up"
        assert await engine.update_index() == await engine.store.count_changes() == 0, (
            "the outbox is empty"
        )
        assert await engine.run_round() is not None, "rounds run again"


async def test_new_clients_are_described_without_an_index_that_would_route_them(
    tmp_path, connection
):
    """Semantic routing asks the index which clients a router reaches.

    A client that comes while the index is away gets its messages after the next round, and no
    interaction waits for that.
    """
    async with open_engine(tmp_path, connection, policy="semantic", tau=-0.5) as engine:
        await record_history(engine, "before")
        assert (await engine.run_round()).touched
        await connection.cut()
        await record_history(engine, "meanwhile")
        assert (
            await engine.store.get_reasoned_through() == await engine.store.get_recorded_through()
        )
        await connection.mend()
        await wait_for_index(engine)
        await engine.run_round()
        [ref] = await engine.store.find_refs([ClientKey(kind=ClientKind.ITEM, id="meanwhile 3")])
        assert (await engine.store.get_edges([ref]))[ref]


async def test_nothing_stands_still_for_an_index_that_is_frozen(tmp_path, connection):
    async with open_engine(tmp_path, connection) as engine:
        await connection.cut()
        await record_history(engine, "before")
        assert engine.index_maintenance.problem
        await connection.freeze()
        looking = asyncio.create_task(engine.update_index())
        await asyncio.sleep(0.05)
        try:
            async with asyncio.timeout(8):
                await record_history(engine, "meanwhile")
            assert (
                await engine.store.get_reasoned_through()
                == await engine.store.get_recorded_through()
            )
            assert not looking.done()
        finally:
            looking.cancel()


async def test_a_service_starts_without_its_index_and_ranks_as_with_it(tmp_path, connection):
    async with open_engine(tmp_path, connection) as engine:
        await record_history(engine, "before")
        wanted = (await engine.recommender.recommend(RecommendRequest("u1", 5))).items
    await connection.cut()
    async with open_engine(tmp_path, connection) as engine:
        assert engine.index_maintenance.problem
        assert (await engine.recommender.recommend(RecommendRequest("u1", 5))).items == wanted
        await record_history(engine, "meanwhile")
        await connection.mend()
        await wait_for_index(engine)
        assert await find_differences(engine) == set()


async def test_one_that_lost_everything_is_filled_again_while_the_service_runs(
    tmp_path, connection
):
    async with open_engine(tmp_path, connection) as engine:
        await record_history(engine, "before")
        for name in await list_collections(connection):
            await connection.client.delete_collection(name)
        await record_history(engine, "meanwhile")
        assert engine.index_maintenance.problem
        await engine.update_index()
        assert await find_differences(engine) == set()
        assert engine.index_maintenance.repaired > 24


async def test_what_was_lost_is_filled_before_another_process_finds_it(
    tmp_path, connection, monkeypatch
):
    async with open_engine(tmp_path, connection) as engine:
        await record_history(engine, "before")
        for name in await list_collections(connection):
            await connection.client.delete_collection(name)
        await record_history(engine, "meanwhile")
        mend, others = engine.index_maintenance.repair, []

        async def acquire_and_mend():
            others.append(
                await engine.store.acquire_lease(maintenance.FIND_LEASE, "another process", 1_000)
            )
            return await mend()

        monkeypatch.setattr(engine.index_maintenance, "repair", acquire_and_mend)
        await engine.update_index()
        assert others == [None]
        assert not engine.index_maintenance.problem


async def test_a_collection_that_was_lost_is_not_read_until_it_is_full_again(
    tmp_path, connection, monkeypatch
):
    async with open_engine(tmp_path, connection) as engine:
        await record_history(engine, "before")
        other = await open_uncut_index(connection, engine)
        full = await other.get_versions(Collection.ITEMS)
        [lost] = [name for name in await list_collections(connection) if "-items-" in name]
        await connection.client.delete_collection(lost)
        upsert, read = QdrantWriter.upsert, []

        async def upsert_and_look(writer, collection, points):
            await upsert(writer, collection, points)
            try:
                read.append(await other.get_versions(Collection.ITEMS))
            except IndexUnavailable:
                read.append(None)

        monkeypatch.setattr(QdrantWriter, "upsert", upsert_and_look)
        engine.index_maintenance.put_off("a collection was lost")
        await engine.update_index()
        assert read
        assert all(found in (None, full) for found in read)
        assert await other.get_versions(Collection.ITEMS) == full
        assert await find_differences(engine) == set()


async def test_what_is_wrong_stays_told_while_another_process_mends_it(tmp_path, connection):
    async with open_engine(tmp_path, connection) as engine:
        await connection.cut()
        await record_history(engine, "before")
        problem = engine.index_maintenance.problem
        lease = await engine.store.acquire_lease(maintenance.FIND_LEASE, "another process", 60_000)
        assert await engine.update_index() == 0
        assert engine.index_maintenance.problem == problem != ""
        await connection.mend()
        assert await engine.update_index() == 0
        assert engine.index_maintenance.problem == problem
        await engine.store.release_lease(lease)
        await wait_for_index(engine)
        assert await find_differences(engine) == set()


async def test_a_difference_is_found_by_version_at_start_and_mended(tmp_path, connection):
    async with open_engine(tmp_path, connection) as engine:
        await record_history(engine, "before")
        versions = await engine.index.get_versions(Collection.USERS)
        ref, ghost = min(versions), 10_000
        await engine.index.delete(Collection.USERS, [ref])
        other = max(versions)
        vector = (await engine.index.get_vectors(Collection.USERS, [other]))[other]
        await engine.index.upsert(
            Collection.USERS, [Point(other, versions[other] + 5, vector), Point(ghost, 1, vector)]
        )
    async with open_engine(tmp_path, connection) as engine:
        assert engine.index_maintenance.repaired == 3
        assert await find_differences(engine) == set()
    async with open_engine(tmp_path, connection) as engine:
        assert engine.index_maintenance.repaired == 0


async def test_what_waits_in_the_outbox_needs_no_second_look(tmp_path, connection, monkeypatch):
    async with open_engine(tmp_path, connection) as engine:
        await record_history(engine, "before")
        engine.vectors.feed.problem = "killed before it wrote"
        await record_history(engine, "unwritten")
        assert await find_differences(engine)
    monkeypatch.setattr(repair, "SECOND_LOOK_SECONDS", 3_600)
    async with asyncio.timeout(60), open_engine(tmp_path, connection) as engine:
        assert await find_differences(engine) == set()
        assert engine.index_maintenance.repaired == 0


async def test_an_index_is_refreshed_once_for_all_its_collections(
    tmp_path, connection, monkeypatch
):
    monkeypatch.setattr(repair, "SECOND_LOOK_SECONDS", 0)
    refreshed = []

    async with open_engine(tmp_path, connection) as engine:
        await record_history(engine, "before")
        await engine.vectors.feed.settle()
        for collection in (Collection.USERS, Collection.ITEMS):
            await engine.index.delete(collection, list(await engine.index.get_versions(collection)))
        find_collections = engine.index.find_collections

        async def refresh(*embedder):
            refreshed.append(embedder)
            return await find_collections(*embedder)

        engine.index.find_collections = refresh
        assert await engine.index_maintenance.repair() == 12 + 3
        assert await find_differences(engine) == set()
    assert len(refreshed) == 1, "each refresh of the NumPy index reads every point"


async def test_an_index_of_another_model_or_dimension_is_made_again(tmp_path, connection):
    async with open_engine(tmp_path, connection) as engine:
        await record_history(engine, "before")
    other = QdrantIndex(connection.client, connection.prefix)
    async with other.rebuild("another model", 3) as writer:
        await writer.upsert(Collection.USERS, [Point(0, 900, np.ones(3, np.float32))])
    async with open_engine(tmp_path, connection) as engine:
        assert await find_differences(engine) == set()
        assert engine.index_maintenance.problem == ""


async def test_reindex_while_others_ask_misses_nothing_that_is_committed_meanwhile(
    tmp_path, connection
):
    async with open_engine(tmp_path, connection) as engine:
        await record_history(engine, "before")
        added = []

        async def write_meanwhile(done, total):
            [ref] = await engine.store.find_refs([ClientKey(kind=ClientKind.USER, id="u0")])
            text = (await engine.store.load_texts([ref]))[ref]
            after = type(text)(
                profile=type(text.profile)(
                    ref=ref,
                    version=text.profile.version + 1,
                    lines=text.profile.lines,
                    next_id=text.profile.next_id,
                )
            )
            await engine.store.commit_texts([after], [], await engine.store.get_recorded_through())
            await engine.vectors.publish([after])
            added.append(ref)

        original = engine.index_maintenance._repair.run

        async def mend(writer, progress, **more):
            count = await original(writer, progress, **more)
            if not added:
                await write_meanwhile(0, 0)
            return count

        engine.index_maintenance._repair.run = mend
        assert await engine.stage0.reindex() == 12 + 3 + 4, "items, users, routers"
        assert added
        assert await find_differences(engine) == set()
        assert len(await list_collections(connection)) == len(Collection)
