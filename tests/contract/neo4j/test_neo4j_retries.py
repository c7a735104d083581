"""Deadlocks, as the server breaks them: one side is told to try again, which the adapter does for
as long as it was told to."""

import asyncio

import pytest

from propagation.adapters.neo4j.store import Neo4jStore
from propagation.model import RoutingEdge, StoreUnreachable
from tests.contract.graph_store import create_clients, user
from tests.neo4j_server.shared import get_server

pytestmark = pytest.mark.neo4j
ANN, BOB = user(0), user(1)
STAGING_SECONDS = 2.0


async def open_store(folder, seconds):
    store = Neo4jStore(get_server(folder).settings.model_copy(update={"retry_seconds": seconds}))
    await store.open()
    return store


async def cross_transactions(store):
    """Two transactions that each hold a client and want the other's: (what became of each, how
    often each was begun)."""
    held = {ANN: asyncio.Event(), BOB: asyncio.Event()}
    begun = {ANN: 0, BOB: 0}

    async def lock_both(first, second):
        async def work(transaction):
            begun[first] += 1
            await transaction.execute("reason/texts/lock_clients", refs=[first])
            held[first].set()
            await held[second].wait()
            await transaction.execute("reason/texts/lock_clients", refs=[second])
            await transaction.execute("connection/store_fact", name=f"of {first}", value=b"here")

        await store.database.write(work)

    return await asyncio.gather(
        lock_both(ANN, BOB), lock_both(BOB, ANN), return_exceptions=True
    ), begun


async def test_a_deadlock_is_tried_again_and_both_come_through(tmp_path, caplog):
    store = await open_store(tmp_path, 30.0)
    try:
        await create_clients(store)
        outcomes, begun = await cross_transactions(store)
        assert outcomes == [None, None]
        assert sum(begun.values()) > 2, "somebody had to begin again"
        assert [await store.get_blob(f"of {ref}") for ref in (ANN, BOB)] == [b"here", b"here"]
        again = sum(begun.values()) - 2
        assert store.retries == {("transactions_retried_total", "reason/texts/lock_clients"): again}
        ours = [one for one in caplog.records if one.name.startswith("propagation")]
        assert sum(one.times for one in ours) == again, "a line a transaction says how often"
    finally:
        await store.close()


async def test_without_patience_one_side_is_told_and_has_written_nothing(tmp_path):
    store = await open_store(tmp_path, 0.0)
    try:
        await create_clients(store)
        outcomes, begun = await cross_transactions(store)
        assert sorted(begun.values()) == [1, 1]
        failed = {
            ref: outcome
            for ref, outcome in zip((ANN, BOB), outcomes, strict=True)
            if outcome is not None
        }
        assert len(failed) == 1
        ((ref, error),) = failed.items()
        assert isinstance(error, StoreUnreachable)
        assert "asks to try again later" in str(error)
        assert await store.get_blob(f"of {ref}") is None
    finally:
        await store.close()


async def test_a_transaction_that_lost_a_node_is_run_again(tmp_path):
    """As when another one deletes it between two operators of a statement: the server's error is
    the same where the statement deletes it itself."""
    store, begun = await open_store(tmp_path, 30.0), 0

    async def work(transaction):
        nonlocal begun
        begun += 1
        if begun == 1:
            result = await transaction.driver_transaction.run("CREATE (n:Fact) DELETE n SET n:Gone")
            await result.consume()
        await transaction.execute("connection/store_fact", name="again", value=b"here")

    try:
        await store.database.write(work)
        assert begun == 2
        assert await store.get_blob("again") == b"here"
    finally:
        await store.close()


async def test_a_round_and_a_commit_of_texts_lock_clients_in_one_order(tmp_path):
    """A round changes what Bob holds before it opens an edge to Ann; a commit locks Ann first."""
    store = await open_store(tmp_path, 30.0)
    has_ann, begun = asyncio.Event(), 0

    async def lock_both(transaction):
        nonlocal begun
        begun += 1
        await transaction.execute("reason/texts/lock_clients", refs=[ANN])
        has_ann.set()
        await asyncio.sleep(STAGING_SECONDS)  # the round takes what it can get meanwhile
        await transaction.execute("reason/texts/lock_clients", refs=[BOB])

    try:
        await create_clients(store)
        lease = await store.acquire_lease("round", "test", 60_000)
        round_ = await store.begin_round(lease, 0)
        committing = asyncio.create_task(store.database.write(lock_both))
        await has_ann.wait()
        await asyncio.gather(
            store.stage_attributes(lease, round_, (), {BOB: ["jazz"]}),
            store.stage_edges(lease, round_, (), [RoutingEdge(4, ANN, 0.5, 0)]),
        )
        await committing
        assert begun == 1
        assert not store.retries
    finally:
        await store.close()
