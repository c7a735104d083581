"""What a process holds open in the graph when it stands still: ended once it has shown no life for as long as a lease stands."""

import asyncio
import contextlib
import time

import pytest

from propagation.adapters.neo4j.store import Neo4jStore
from propagation.model.errors import PropagationError
from tests.contract.graph_store import known_clients, user
from tests.neo4j_server.shared import server_for

pytestmark = pytest.mark.neo4j
TTL_MS = 2_000


@contextlib.asynccontextmanager
async def two_stores(folder):
    stores = [Neo4jStore(server_for(folder).settings) for _ in range(2)]
    for store in stores:
        await store.open()
    await known_clients(stores[0])
    try:
        yield stores
    finally:
        for store in stores:
            await store.close()


async def holding_the_log(store, begun, until):
    async def work(transaction):
        await transaction.do("log/wait")
        begun.set()
        await until.wait()
        await transaction.do("facts/put", name="late", value=b"here")

    await store.database.write(work)


@pytest.mark.parametrize("lives", [False, True], ids=["stands still", "lives"])
async def test_locks_of_a_process_that_stands_still_are_gone_and_those_of_one_that_lives_stay(tmp_path, lives):
    async with two_stores(tmp_path) as (frozen, other):
        begun, until = asyncio.Event(), asyncio.Event()
        await frozen.show_life("frozen", TTL_MS)
        writing = asyncio.create_task(holding_the_log(frozen, begun, until))
        await begun.wait()
        assert await other.show_life("other", TTL_MS) == 0
        await asyncio.sleep(2 * TTL_MS / 1_000)
        if lives:
            await frozen.show_life("frozen", TTL_MS)
        assert await other.show_life("other", TTL_MS) == 0, "silent once: the server itself may have stood still"
        assert await other.show_life("other", TTL_MS) == (0 if lives else 1)
        start = time.monotonic()
        waiting = asyncio.create_task(other.database.write(lambda transaction: transaction.do("log/wait")))
        await asyncio.wait([waiting], timeout=5)
        assert waiting.done() != lives
        until.set()
        if lives:
            await writing
        else:
            with pytest.raises(PropagationError):
                await writing
        await waiting
        assert time.monotonic() - start < 10
        assert await other.get_blob("late") == (b"here" if lives else None)
        assert await other.load_texts([user(0)])


async def test_who_ends_is_looked_for_no_more(tmp_path):
    async with two_stores(tmp_path) as (ends, other):
        await ends.show_life("ends", TTL_MS)
        assert await ends.show_life("ends", 0) == 0
        for _ in range(2):
            await other.show_life("other", TTL_MS)
        assert server_for(tmp_path).run("MATCH (l:Lease) RETURN l.name") == [["alive:other"]]
