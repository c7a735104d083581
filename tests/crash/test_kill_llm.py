"""kill -9 in the middle of what a language model reasons, under faults: nothing lost, nothing
doubled."""

import asyncio
import os
import sqlite3
import sys
from contextlib import asynccontextmanager, closing

import grpc
import pytest

from propagation.v1 import propagation_pb2 as pb
from propagation.v1.propagation_pb2_grpc import PropagationServiceStub
from services.fake_llm.script import Script
from services.fake_llm.server import fake_llm
from tests.waiting import wait_until

pytestmark = pytest.mark.slow

USERS, ITEMS, EVENTS = 10, 12, 40
STYLES = ("opera", "jazz", "folk", "dub")
CATALOGUE = [
    pb.Client(
        key=pb.ClientKey(kind=pb.CLIENT_KIND_ITEM, id=f"i{n}"),
        title=f"Record {n}",
        categories=[STYLES[n % 4]],
    )
    for n in range(ITEMS)
]
HISTORY = [
    pb.Interaction(event_id=f"e{n}", user_id=f"u{n % USERS}", item_id=f"i{n * 7 % ITEMS}")
    for n in range(EVENTS)
]
FAULTS = dict.fromkeys(("429", "500", "malformed", "disconnect", "refusal"), 0.05)


@asynccontextmanager
async def start_service(database, base_url, *more):
    assignments = (
        "reasoner=openai",
        f"openai.base_url={base_url}",
        "openai.model=scripted",
        "session.k=4",
        "taste.k=4",
        "table_edges=2",
        "bootstrap_items=12",
        "update_size=10",
        "auto_create=true",
        *more,
    )
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "services.cli.main",
        "serve",
        "--database",
        str(database),
        "--port",
        "0",
        *(part for one in assignments for part in ("--set", one)),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        env=os.environ.copy(),
    )
    try:
        address = (await process.stdout.readline()).decode().removeprefix("listening on ").strip()
        async with grpc.aio.insecure_channel(address) as channel:
            yield PropagationServiceStub(channel), process
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def wait_until_reasoned(stub, at_least):
    """Wait until so many sequences are reasoned (None: all that were recorded)."""
    while True:
        status = await stub.GetStatus(pb.GetStatusRequest())
        wanted = status.recorded_through if at_least is None else at_least
        if status.reasoned_through >= wanted:
            return
        await asyncio.sleep(0.1)


async def test_a_kill_in_the_middle_loses_and_doubles_nothing(tmp_path):
    database = tmp_path / "graph.db"
    async with fake_llm(Script(latency=0.05, faults=FAULTS)) as server:
        async with start_service(database, server.base_url) as (stub, process):
            await stub.UpsertClients(pb.UpsertClientsRequest(clients=CATALOGUE))
            answer = await stub.RecordInteractions(
                pb.RecordInteractionsRequest(interactions=HISTORY)
            )
            await wait_until_reasoned(stub, answer.sequence - EVENTS // 2)
            process.kill()
        async with start_service(database, server.base_url) as (stub, _):
            await wait_until_reasoned(stub, None)
    with closing(sqlite3.connect(database)) as connection:
        done = connection.execute(
            "SELECT count(*) FROM interaction JOIN reasoned USING (sequence)"
        ).fetchone()[0]
        gradients = connection.execute("SELECT sequence, module, owner FROM gradient").fetchall()
    assert done == EVENTS
    assert len(set(gradients)) == len(gradients)


async def test_sigterm_does_not_wait_for_an_endpoint_that_hangs(tmp_path):
    database = tmp_path / "graph.db"
    async with fake_llm(Script(latency=0.01)) as server:
        async with start_service(database, server.base_url, "server.grace_seconds=2") as (
            stub,
            process,
        ):
            await stub.UpsertClients(pb.UpsertClientsRequest(clients=CATALOGUE))
            first = await stub.RecordInteractions(
                pb.RecordInteractionsRequest(interactions=HISTORY[:USERS])
            )
            await wait_until_reasoned(stub, first.sequence)
            server.script = Script(latency=600)
            await stub.RecordInteractions(
                pb.RecordInteractionsRequest(interactions=HISTORY[USERS:])
            )
            while not server.seen.running:  # noqa: ASYNC110 - the server counts, and tells nobody
                await asyncio.sleep(0.05)
            calls = server.seen.calls.total()
            process.terminate()
            assert await asyncio.wait_for(process.wait(), 30) == 0
            assert server.seen.calls.total() - calls < USERS, (
                "those that were about to go out, and no more"
            )
        server.script = Script(latency=0.01)
        async with start_service(database, server.base_url) as (stub, _):
            await wait_until_reasoned(stub, None)
    with closing(sqlite3.connect(database)) as connection:
        assert connection.execute(
            "SELECT count(*), count(DISTINCT sequence) FROM reasoned"
        ).fetchone() == (EVENTS, EVENTS)
        assert connection.execute("SELECT count(*) FROM dead_letter").fetchone() == (0,)


LARGE = [
    pb.Client(
        key=pb.ClientKey(kind=pb.CLIENT_KIND_ITEM, id=f"i{n}"),
        title=f"Record {n}",
        categories=[STYLES[n % 4]],
    )
    for n in range(300)
]


async def test_interactions_go_on_while_a_large_catalogue_is_described_and_a_kill_doubles_nothing(
    tmp_path,
):
    database = tmp_path / "graph.db"
    settings = ("openai.clients_a_call=1", "openai.in_flight=4", "update_size=100000")
    late = [
        pb.Interaction(event_id=f"l{n}", user_id="late", item_id=f"i{299 - n}") for n in range(2)
    ]
    async with fake_llm(Script(latency=0.4)) as server:
        async with start_service(database, server.base_url, *settings) as (stub, process):
            await stub.UpsertClients(pb.UpsertClientsRequest(clients=LARGE))
            while not server.seen.running:  # noqa: ASYNC110 - the server counts, and tells nobody
                await asyncio.sleep(0.05)
            answer = await stub.RecordInteractions(pb.RecordInteractionsRequest(interactions=late))
            waiting = await stub.GetStatus(pb.GetStatusRequest())
            assert waiting.clients_to_describe > 250
            assert waiting.reasoned_through < answer.sequence - 1
            await wait_until_reasoned(stub, answer.sequence)
            status = await stub.GetStatus(pb.GetStatusRequest())
            assert status.clients_to_describe > 200, "the catalogue is far from described"
            assert (status.interactions_to_reason, status.reasoned_above) == (0, 0)
            assert status.HasField("described_at")
            users = await stub.GetProfile(
                pb.GetProfileRequest(key=pb.ClientKey(kind=pb.CLIENT_KIND_USER, id="late"))
            )
            assert users.profile.lines
            described = read_descriptions(database)
            left = status.clients_to_describe - 20
            await wait_until_described(stub, left)
            process.kill()
        server.script = Script(latency=0.02)
        asked = server.seen.calls["extract"]
        async with start_service(database, server.base_url, *settings) as (stub, _):
            status = await stub.GetStatus(pb.GetStatusRequest())
            assert status.clients_to_describe <= left, "what was described stays so"
            await wait_until_described(stub, 0)
            status = await stub.GetStatus(pb.GetStatusRequest())
            assert not status.HasField("described_at")
    found = read_descriptions(database)
    assert len(found) == len(LARGE)
    assert set(found.values()) == {1}, "each item is described once"
    assert described.items() <= found.items()
    assert server.seen.calls["extract"] <= len(LARGE) + 4, "but for calls that the kill cut off"
    assert asked < len(LARGE)


async def wait_until_described(stub, at_most):
    async def find():
        return (await stub.GetStatus(pb.GetStatusRequest())).clients_to_describe <= at_most

    await wait_until(find, 120, pause=0.1)


def read_descriptions(database):
    """Count the descriptions of each client."""
    with closing(sqlite3.connect(database)) as connection:
        return dict(
            connection.execute(
                "SELECT ref, count(*) FROM profile_version WHERE written_by LIKE 'extract@%'"
                " GROUP BY ref"
            )
        )
