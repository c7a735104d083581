"""A graph server that is frozen (SIGSTOP), or whose host vanishes, while events arrive is noticed
within neo4j.retry_seconds; a long query of a live one is not cut off by that."""

import asyncio
import json
import time

import grpc
import pytest

from propagation.adapters.neo4j.store import Neo4jStore
from propagation.v1 import propagation_pb2 as pb
from propagation.v1.propagation_pb2_grpc import PropagationServiceStub
from tests.deployments.service_processes import (
    SECONDS,
    Status,
    measure_seconds_until_health,
    open_vanishing_host,
    start_service,
)
from tests.neo4j_server.server import Neo4jServer
from tests.neo4j_server.shared import skip_where_missing

pytestmark = [pytest.mark.neo4j, pytest.mark.slow, pytest.mark.alone]
RETRY_SECONDS = 5.0
SLACK_SECONDS = 1.0
WRITERS = 3
NEVER = 1 << 40
WAITING_READS = (
    lambda stub: stub.Recommend(pb.RecommendRequest(user_id="u0", min_sequence=NEVER)),
    lambda stub: stub.GetProfile(
        pb.GetProfileRequest(
            key=pb.ClientKey(kind=pb.CLIENT_KIND_USER, id="u0"),
            freshness=pb.FRESHNESS_MERGED,
            min_sequence=NEVER,
        )
    ),
    lambda stub: stub.ListRouters(pb.ListRoutersRequest(min_sequence=NEVER)),
)
LONG_QUERY = "UNWIND range(1, 6000) AS a UNWIND range(1, 3000) AS b RETURN sum(a % 7 + b % 7)"


@pytest.fixture
async def server(tmp_path):
    skip_where_missing()
    server = Neo4jServer(tmp_path / "neo4j")
    await asyncio.to_thread(server.start)
    yield server
    server.thaw()
    await asyncio.to_thread(server.stop)


async def measure_wait(stub, read):
    """Let a read wait for a sequence that is never reached.

    Returns the seconds until the refusal, and its error.
    """
    begun = time.monotonic()
    with pytest.raises(grpc.aio.AioRpcError) as refused:
        await read(stub)
    return time.monotonic() - begun, refused.value


class Writer:
    """Records one event after the other, each until it is acknowledged; `longest`: the seconds
    until a refusal."""

    def __init__(self, stub, name):
        self.acked, self.refused, self.longest = {}, [], 0.0
        self._stub, self._name = stub, name

    async def write(self):
        while True:
            event = pb.Interaction(
                event_id=f"{self._name}-{len(self.acked)}", user_id=self._name, item_id="i"
            )
            begun = time.monotonic()
            try:
                answer = await self._stub.RecordInteractions(
                    pb.RecordInteractionsRequest(interactions=[event]), timeout=SECONDS
                )
            except grpc.aio.AioRpcError as error:
                self.refused.append(error)
                self.longest = max(self.longest, time.monotonic() - begun)
                await asyncio.sleep(0.2)
            else:
                self.acked[event.event_id] = answer.outcomes[0].sequence
                await asyncio.sleep(0.02)


@pytest.mark.parametrize("fault", ["frozen", "vanished", "no route"])
async def test_a_silent_server_is_noticed_in_time_and_nothing_is_lost(tmp_path, server, fault):
    password = server.settings.password.get_secret_value()
    limit = f"neo4j.retry_seconds={RETRY_SECONDS}"
    async with (
        open_vanishing_host(server) as host,
        start_service(tmp_path, host.port, password, limit) as (process, own),
        grpc.aio.insecure_channel(f"127.0.0.1:{own}") as channel,
    ):
        await asyncio.wait_for(process.stdout.readline(), SECONDS)
        stub = PropagationServiceStub(channel)
        writers = [Writer(stub, f"u{n}") for n in range(WRITERS)]
        writing = [asyncio.create_task(writer.write()) for writer in writers]
        while min(len(writer.acked) for writer in writers) < 20:  # noqa: ASYNC110
            await asyncio.sleep(0.05)
        waiting = [asyncio.create_task(measure_wait(stub, read)) for read in WAITING_READS]
        silence, heal = {
            "frozen": (server.freeze, server.thaw),
            "vanished": (host.vanish, host.come_back),
            "no route": (host.lose_route, host.come_back),
        }[fault]
        silence()
        assert await measure_seconds_until_health(channel, Status.NOT_SERVING) < RETRY_SECONDS
        waiting += [asyncio.create_task(measure_wait(stub, read)) for read in WAITING_READS]
        for seconds, error in await asyncio.gather(*waiting):
            assert error.code() == grpc.StatusCode.UNAVAILABLE, error
            assert "no answer within" in error.details()
            assert seconds < RETRY_SECONDS + SLACK_SECONDS
        begun = time.monotonic()
        with pytest.raises(grpc.aio.AioRpcError, match="no answer within"):
            await stub.ForgetClient(
                pb.ForgetClientRequest(key=pb.ClientKey(kind=pb.CLIENT_KIND_USER, id="u0"))
            )
        assert time.monotonic() - begun < RETRY_SECONDS + SLACK_SECONDS
        while not all(writer.refused for writer in writers):  # noqa: ASYNC110
            await asyncio.sleep(0.05)
        await asyncio.sleep(2 * RETRY_SECONDS)
        assert max(writer.longest for writer in writers) < RETRY_SECONDS + SLACK_SECONDS
        for writer in writers:
            for error in writer.refused:
                assert error.code() == grpc.StatusCode.UNAVAILABLE, error
                assert "no answer within neo4j.retry_seconds" in error.details()
        heal()
        await measure_seconds_until_health(channel, Status.SERVING)
        before = [len(writer.acked) for writer in writers]
        while not all(  # noqa: ASYNC110
            len(writer.acked) > count for writer, count in zip(writers, before, strict=True)
        ):
            await asyncio.sleep(0.05)
        for task in writing:
            task.cancel()
        await asyncio.gather(*writing, return_exceptions=True)
        acked = {event: sequence for writer in writers for event, sequence in writer.acked.items()}
        rows = dict(server.run("MATCH (i:Interaction) RETURN i.event_id, i.sequence"))
        assert acked.items() <= rows.items(), "lost or doubled"
        assert len(rows) - len(acked) <= WRITERS, "the calls that were cancelled"
        process.terminate()
        _, log = await asyncio.wait_for(process.communicate(), SECONDS)
    lines = [json.loads(line) for line in log.decode().splitlines()]
    assert any("no answer within neo4j.retry_seconds" in line.get("error", "") for line in lines)
    assert [line for line in lines if line["level"] == "error"] == []


async def test_a_long_query_of_a_live_server_goes_on(server):
    store = Neo4jStore(server.settings.model_copy(update={"retry_seconds": 2.0}))
    await store.open()
    try:
        begun = time.monotonic()
        await store.database.define(LONG_QUERY)
        assert time.monotonic() - begun > store.database.settings.retry_seconds, "too short a test"
    finally:
        await store.close()
