"""A service whose graph server is away, refuses it, or is another release: over real gRPC, as a
process of its own."""

import asyncio
import re
import signal

import grpc
import pytest

from propagation.v1 import propagation_pb2 as pb
from propagation.v1.propagation_pb2_grpc import PropagationServiceStub
from services.cli.exits import ExitCode
from tests.deployments.service_processes import (
    SECONDS,
    Status,
    read_health,
    relay_port,
    start_service,
)
from tests.neo4j_server.shared import get_server
from tests.ports import find_free_port

pytestmark = pytest.mark.neo4j


async def test_it_waits_for_its_server_and_serves_alone_when_that_comes_up(tmp_path):
    neo4j, port = get_server(tmp_path), find_free_port()
    async with (
        start_service(tmp_path, port, neo4j.settings.password.get_secret_value()) as (process, own),
        grpc.aio.insecure_channel(f"127.0.0.1:{own}") as channel,
    ):
        assert await read_health(channel) == Status.NOT_SERVING
        record = PropagationServiceStub(channel).RecordInteractions
        request = pb.RecordInteractionsRequest(
            interactions=[pb.Interaction(event_id="e", user_id="ann", item_id="i")]
        )
        line = await asyncio.wait_for(process.stderr.readline(), SECONDS)
        assert b"waiting for the graph's server" in line
        assert b"does not answer" in line
        with pytest.raises(grpc.aio.AioRpcError, match="waits for its graph's server") as refused:
            await record(request)
        assert refused.value.code() == grpc.StatusCode.UNAVAILABLE
        async with relay_port(port, neo4j):
            output = await asyncio.wait_for(process.stdout.readline(), SECONDS)
            assert output.decode().strip() == f"listening on 127.0.0.1:{own}"
            assert await read_health(channel) == Status.SERVING
            assert (await record(request)).outcomes[0].status == pb.INTERACTION_STATUS_ACCEPTED
            process.send_signal(signal.SIGTERM)
            assert await asyncio.wait_for(process.wait(), SECONDS) == ExitCode.DONE


async def test_it_can_be_stopped_while_it_waits(tmp_path):
    async with (
        start_service(tmp_path, find_free_port(), "any") as (process, own),
        grpc.aio.insecure_channel(f"127.0.0.1:{own}") as channel,
    ):
        assert await read_health(channel) == Status.NOT_SERVING
        await asyncio.wait_for(process.stderr.readline(), SECONDS)
        process.send_signal(signal.SIGTERM)
        assert await asyncio.wait_for(process.wait(), SECONDS) == ExitCode.DONE


async def read_last_lines(process):
    _, output = await asyncio.wait_for(process.communicate(), SECONDS)
    return process.returncode, output.decode().strip().splitlines()


async def test_a_wrong_password_is_one_line_and_an_exit_code(tmp_path):
    port = get_server(tmp_path).settings.uri.rpartition(":")[2]
    async with start_service(tmp_path, port, "not-the-password") as (process, _):
        code, lines = await read_last_lines(process)
    assert code == ExitCode.DATA
    assert len(lines) == 1
    assert "refuses this user or password" in lines[0]
    assert "not-the-password" not in lines[0]


async def test_another_release_of_the_server_is_one_line_and_an_exit_code(tmp_path):
    neo4j, port = get_server(tmp_path), find_free_port()
    async with (
        relay_port(port, neo4j, lambda data: re.sub(rb"Neo4j/5\.26\.", b"Neo4j/5.25.", data)),
        start_service(tmp_path, port, neo4j.settings.password.get_secret_value()) as (process, _),
    ):
        code, lines = await read_last_lines(process)
    assert code == ExitCode.DATA
    assert len(lines) == 1
    assert "is Neo4j/5.25." in lines[0]
    assert "Neo4j 5.26" in lines[0]
