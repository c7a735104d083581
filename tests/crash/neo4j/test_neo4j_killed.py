"""kill -9 of the database server itself: what was acknowledged is there once, what was not may be
sent again."""

import asyncio
import random

import pytest

from propagation.adapters.neo4j.store import Neo4jStore
from propagation.model import RecordStatus, StoreUnreachable
from tests.contract.graph_store import event, learn_all
from tests.neo4j_server.server import Neo4jServer
from tests.neo4j_server.shared import skip_where_missing

pytestmark = [pytest.mark.neo4j, pytest.mark.slow]
CALLS, EVENTS_A_CALL, KILLS = 60, 20, 3


def build_call(number):
    return [event(f"{number}-{n}", f"u{n}", f"i{(number + n) % 40}") for n in range(EVENTS_A_CALL)]


async def push(store, number, acked):
    """One call, sent again until it is acknowledged, as a client of the service does."""
    while number not in acked:
        try:
            answer = await store.record(build_call(number), auto_create=True)
        except StoreUnreachable:
            await asyncio.sleep(0.5)
        else:
            assert {outcome.status for outcome in answer.outcomes} <= {
                RecordStatus.ACCEPTED,
                RecordStatus.DUPLICATE,
            }
            acked[number] = [outcome.sequence for outcome in answer.outcomes]


async def test_a_killed_server_loses_and_doubles_nothing(tmp_path):
    skip_where_missing()
    server = Neo4jServer(tmp_path / "neo4j")
    await asyncio.to_thread(server.start)
    store = Neo4jStore(server.settings.model_copy(update={"retry_seconds": 1.0}))
    try:
        await store.open()
        acked: dict[int, list[int]] = {}
        draw = random.Random(5)
        for kill in range(KILLS):
            numbers = range(kill * CALLS, (kill + 1) * CALLS)
            pushing = [asyncio.create_task(push(store, number, acked)) for number in numbers]
            await asyncio.sleep(draw.uniform(0.02, 0.4))
            await asyncio.to_thread(server.kill)
            await asyncio.to_thread(server.start)
            await asyncio.gather(*pushing)
        part = await store.read_log(0, 1 << 20)
        assert len(part.interactions) == KILLS * CALLS * EVENTS_A_CALL
        assert (
            sorted(sequence for sequences in acked.values() for sequence in sequences)
            == part.interactions.sequence.tolist()
        )
        await learn_all(store)
        assert await store.check() == []
        await check_frozen_server(server)
    finally:
        await store.close()
        await asyncio.to_thread(server.stop)


async def check_frozen_server(server):
    """SIGSTOP: its connections stand and nothing is answered. What was sent may be committed when
    it goes on, once."""
    store = Neo4jStore(server.settings.model_copy(update={"answer_seconds": 2.0}))
    await store.open()
    try:
        before = await store.get_recorded_through()
        server.freeze()
        with pytest.raises(StoreUnreachable, match="does not answer"):
            await store.record([event("frozen", "u0", "i0")], auto_create=True)
        server.thaw()
        acked: dict[int, list[int]] = {}
        await push(store, 10_000, acked)
        answer = await store.record([event("frozen", "u0", "i0")], auto_create=True)
        assert answer.outcomes[0].status in (RecordStatus.ACCEPTED, RecordStatus.DUPLICATE)
        part = await store.read_log(before, 1_000)
        assert len(part.interactions) == EVENTS_A_CALL + 1
    finally:
        await store.close()
