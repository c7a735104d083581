"""What a process holds open in the graph when it stands still can be ended; nothing of one that
lives."""

import asyncio
import contextlib
import time

import pytest

from propagation.adapters.neo4j.store import Neo4jStore
from propagation.model.errors import PropagationError
from tests.contract.graph_store import known_clients, user
from tests.neo4j_server.shared import server_for

pytestmark = pytest.mark.neo4j
TTL_MS, WITHIN = 2_000, 2.0


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
async def test_locks_of_a_process_that_stands_still_are_gone_and_those_of_one_that_lives_stay(
    tmp_path, lives
):
    async with two_stores(tmp_path) as (frozen, other):
        begun, until = asyncio.Event(), asyncio.Event()
        await frozen.renew_heartbeat("frozen", TTL_MS, WITHIN)
        writing = asyncio.create_task(holding_the_log(frozen, begun, until))
        await begun.wait()
        assert await other.renew_heartbeat("other", TTL_MS, WITHIN) == set()
        await asyncio.sleep(2 * TTL_MS / 1_000)
        if lives:
            await frozen.renew_heartbeat("frozen", TTL_MS, WITHIN)
        silent = await other.renew_heartbeat("other", TTL_MS, WITHIN)
        assert silent == (set() if lives else {"frozen"})
        assert await other.end_stalled(["other", "nobody"], TTL_MS, WITHIN) == 0
        assert await other.end_stalled(sorted(silent), 100 * TTL_MS, WITHIN) == 0, (
            "not open for so long"
        )
        assert await other.end_stalled(sorted(silent), TTL_MS, WITHIN) == (0 if lives else 1)
        start = time.monotonic()
        waiting = asyncio.create_task(
            other.database.write(lambda transaction: transaction.do("log/wait"))
        )
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
        await ends.renew_heartbeat("ends", TTL_MS, WITHIN)
        await ends.renew_heartbeat("ends", 0, WITHIN)
        for _ in range(2):
            assert await other.renew_heartbeat("other", TTL_MS, WITHIN) == set()
        assert server_for(tmp_path).run("MATCH (l:Lease) RETURN l.name") == [["alive:other"]]
