"""Two services of one Neo4j on a real Qdrant server (QDRANT_URL): they find it empty at the same
time, and it is made again beside them."""

import asyncio
import contextlib
import json
import os
import subprocess
import sys

import pytest

from propagation.adapters.neo4j.store import Neo4jStore
from propagation.adapters.offline.embedder import HashedEmbedder
from propagation.adapters.offline.reasoner import OfflineReasoner
from propagation.adapters.qdrant.index import QdrantIndex
from propagation.ports import Collection
from propagation.v1 import propagation_pb2 as pb
from propagation.workflow.compose import compose
from propagation.workflow.replay import replay
from propagation.workflow.settings import BankSettings, WorkflowSettings
from tests import qdrants
from tests.crash.neo4j.services_on_neo4j import SECONDS, SETTINGS, start_service
from tests.deployments.test_same_outcome import build_catalogue, draw_events
from tests.neo4j_server.shared import get_server
from tests.waiting import wait_until

pytestmark = [
    pytest.mark.neo4j,
    pytest.mark.slow,
    pytest.mark.skipif(not qdrants.THERE, reason="QDRANT_URL names no Qdrant server"),
]
WORKFLOW = WorkflowSettings(
    session=BankSettings(k=4),
    taste=BankSettings(k=4),
    table_edges=2,
    update_size=100,
    bootstrap_items=30,
    policy="semantic",
    auto_create=True,
)
MORE = ("bootstrap_items=30", "policy=semantic")
USERS, ITEMS = 40, 120


@pytest.fixture
async def deployment(tmp_path):
    """A Neo4j that holds something, and a Qdrant that holds its index: (server, client of Qdrant,
    prefix, settings)."""
    server, prefix = get_server(tmp_path), qdrants.build_prefix(str(tmp_path))
    async with qdrants.open_client(prefix) as client:
        engine = compose(
            Neo4jStore(server.settings),
            HashedEmbedder(WORKFLOW.seed),
            QdrantIndex(qdrants.connect_to_server(), prefix),
            OfflineReasoner(),
            WORKFLOW,
            "test",
        )
        try:
            await engine.open()
            await replay(engine, build_catalogue(ITEMS), draw_events(600, USERS, ITEMS), step=128)
        finally:
            await engine.close()
        yield (
            server,
            client,
            prefix,
            (
                "index=qdrant",
                f"qdrant.url={os.environ['QDRANT_URL']}",
                f"qdrant.prefix={prefix}",
                f"qdrant.grpc_port={qdrants.GRPC_PORT}",
                *MORE,
            ),
        )


def run_command(folder, server, settings, *arguments):
    """Of the command line, beside the services; its JSON."""
    options = [
        part
        for setting in (*SETTINGS, f"neo4j.uri={server.settings.uri}", *settings)
        for part in ("--set", setting)
    ]
    environment = {
        **os.environ,
        "PROPAGATION_NEO4J__PASSWORD": server.settings.password.get_secret_value(),
        "PYTHONPATH": os.getcwd(),
    }
    done = subprocess.run(
        [sys.executable, "-m", "services.cli.main", *arguments, *options, "--json"],
        cwd=folder,
        env=environment,
        text=True,
        capture_output=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode == 0, (done.stdout[-2_000:], done.stderr[-2_000:])
    return json.loads(done.stdout)


async def assert_doctor_finds_nothing(folder, server, settings):
    """`doctor` finds nothing, and has nothing to make good."""
    found = await asyncio.to_thread(run_command, folder, server, settings, "doctor")
    assert found["sound"]
    assert [finding["problem"] for finding in found["findings"] if finding["problem"]] == []


async def list_collections(client, prefix):
    return sorted(
        found.name
        for found in (await client.get_collections()).collections
        if found.name.startswith(prefix)
    )


async def count_points(client, prefix):
    """How many there are, by collection."""
    return {
        name.split("-")[1]: (await client.count(name)).count
        for name in await list_collections(client, prefix)
    }


async def is_caught_up(service):
    status = await service.stub.GetStatus(pb.GetStatusRequest(), timeout=SECONDS)
    return not status.failing and status.reasoned_through == status.recorded_through


async def find_similar(service, item):
    """What is nearest by profile, with its similarity."""
    answer = await service.stub.SimilarClients(
        pb.SimilarClientsRequest(
            key=pb.ClientKey(kind=pb.CLIENT_KIND_ITEM, id=item), by=pb.SIMILARITY_PROFILE, limit=5
        ),
        timeout=SECONDS,
    )
    return [(found.key.id, round(found.similarity, 5)) for found in answer.neighbours]


async def test_both_start_on_an_empty_one_and_it_is_filled_once(tmp_path, deployment):
    server, client, prefix, settings = deployment
    points = await count_points(client, prefix)
    await qdrants.drop_collections(client, prefix)
    async with contextlib.AsyncExitStack() as stack:
        services = await asyncio.gather(
            *(
                stack.enter_async_context(
                    start_service(tmp_path, server.settings, f"service-{n}", *settings)
                )
                for n in range(2)
            )
        )
        for service in services:
            await wait_until(lambda service=service: is_caught_up(service), SECONDS, pause=0.2)
        assert len(await list_collections(client, prefix)) == len(Collection), (
            "one replica's are served, the other's lie there"
        )
        assert await count_points(client, prefix) == points
        for item in ("i0", "i7", "i20"):
            first, second = [await find_similar(service, item) for service in services]
            assert len(first) == 5
            assert first == second
    await assert_doctor_finds_nothing(tmp_path, server, settings)


async def test_made_again_beside_a_service_under_events(tmp_path, deployment):
    server, client, prefix, settings = deployment
    async with start_service(tmp_path, server.settings, "service", *settings) as service:
        before, stopped, read = await list_collections(client, prefix), asyncio.Event(), []

        async def events():
            call = 0
            while not stopped.is_set():
                found = [
                    pb.Interaction(
                        event_id=f"more-{call}-{n}",
                        user_id=f"u{(call + n) % 50}",
                        item_id=f"i{(7 * call + n) % ITEMS}",
                    )
                    for n in range(5)
                ]
                answer = await service.stub.RecordInteractions(
                    pb.RecordInteractionsRequest(interactions=found), timeout=SECONDS
                )
                assert {outcome.status for outcome in answer.outcomes} == {
                    pb.INTERACTION_STATUS_ACCEPTED
                }
                call += 1
                await asyncio.sleep(0.05)

        async def keep_reading():
            while not stopped.is_set():
                read.append(len(await find_similar(service, f"i{len(read) % ITEMS}")))
                await asyncio.sleep(0.02)

        load = [asyncio.create_task(events()), asyncio.create_task(keep_reading())]
        await asyncio.sleep(1)
        done = await asyncio.to_thread(run_command, tmp_path, server, settings, "reindex")
        await asyncio.sleep(1)
        stopped.set()
        await asyncio.gather(*load)
        assert done["points"] >= sum((await count_points(client, prefix)).values()) / 2
        assert set(read) == {5}, "a read found less meanwhile"
        after = await list_collections(client, prefix)
        assert len(after) == len(Collection)
        assert not set(before) & set(after), "made beside the old ones, which are gone"
        await service.stub.RunRound(pb.RunRoundRequest(drain=True), timeout=SECONDS)
        await wait_until(lambda: is_caught_up(service), SECONDS, pause=0.2)
    await assert_doctor_finds_nothing(tmp_path, server, settings)
