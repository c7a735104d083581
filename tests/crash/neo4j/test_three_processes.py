"""Three services as processes of their own on one Neo4j: the learner is frozen beyond its lease and
its claim, the next one is killed -9, the first thawed. The others take over, what comes back late
is harmless, and a night that is due for all three is one evolution."""

import asyncio
import contextlib
import os
import re
import signal
import time

import grpc
import pytest

from propagation.adapters.neo4j.store import Neo4jStore
from propagation.v1 import propagation_pb2 as pb
from propagation.workflow.settings import WorkflowSettings
from services.schedule.calendar_job import JobState
from tests.crash.neo4j.services_on_neo4j import SECONDS, start_service
from tests.neo4j_server.shared import get_server
from tests.waiting import wait_until

pytestmark = [pytest.mark.neo4j, pytest.mark.slow]
CALL_SECONDS, DAY_MS = 5, 86_400_000
QUICK = "neo4j.answer_seconds=20"
USERS, ITEMS, EVENTS_A_CALL = 12, 40, 10
WRITTEN_TWICE = (
    "MATCH (i:Interaction)-[:WROTE]->(p:ProfileVersion) WITH i, p.ref AS ref, count(p) AS "
    "versions WHERE versions > 1"
    " RETURN count(*)"
)
WRITTEN = (
    "MATCH (i:Interaction)-[:WROTE]->(p:ProfileVersion) WHERE p.ref = i.user"
    " RETURN p.ref, p.version, i.sequence ORDER BY p.ref, p.version"
)


class Caller:
    """Pushes through whichever service answers; a call that was not acknowledged goes to another,
    with the same ids."""

    def __init__(self, services):
        self.services, self.acked, self.stopped = services, {}, False

    async def push(self, first):
        call = first
        while not self.stopped:
            events = [
                pb.Interaction(
                    event_id=f"{call}-{n}",
                    user_id=f"u{(call + n) % USERS}",
                    item_id=f"i{call * n % ITEMS}",
                )
                for n in range(EVENTS_A_CALL)
            ]
            await self._until_acked(events, call)
            call += len(self.services)
            await asyncio.sleep(0.1)

    async def _until_acked(self, events, place):
        while True:
            stub = self.services[place % len(self.services)].stub
            try:
                answer = await stub.RecordInteractions(
                    pb.RecordInteractionsRequest(interactions=events), timeout=CALL_SECONDS
                )
            except grpc.aio.AioRpcError:
                place += 1
                await asyncio.sleep(0.05)
                continue
            for outcome in answer.outcomes:
                assert outcome.status in (
                    pb.INTERACTION_STATUS_ACCEPTED,
                    pb.INTERACTION_STATUS_DUPLICATE,
                ), outcome
                assert self.acked.setdefault(outcome.event_id, outcome.sequence) == outcome.sequence
            return


def find_learner(server):
    """The process that holds the learner's lease, as its holder names it."""
    return int(
        re.search(
            r":(\d+):[0-9a-f]+$",
            server.run("MATCH (l:Lease {name: 'learn'}) RETURN l.holder")[0][0],
        )[1]
    )


async def wait_for_takeover(server, store, gone):
    """Somebody else learns what is recorded from now on, within a lease's life (and what a slow
    machine takes to notice)."""
    wanted = await store.get_recorded_through() + 1

    async def is_learned():
        return await store.get_learned_through() >= wanted

    await wait_until(is_learned, SECONDS, pause=0.2)
    assert find_learner(server) not in gone


async def test_takeover_lateness_and_one_night(tmp_path):
    server = get_server(tmp_path)
    store = Neo4jStore(server.settings)
    await store.open()
    await store.put_blob(
        "job:evolution",
        JobState(through=time.time_ns() // 1_000_000 - 2 * DAY_MS).model_dump_json().encode(),
    )
    async with contextlib.AsyncExitStack() as stack:
        stack.push_async_callback(store.close)
        services = await asyncio.gather(
            *(
                stack.enter_async_context(
                    start_service(tmp_path, server.settings, f"service-{n}", QUICK)
                )
                for n in range(3)
            )
        )
        caller = Caller(services)
        pushing = [asyncio.create_task(caller.push(n)) for n in range(3)]

        async def has_begun():
            return await store.get_reasoned_through() > 100

        await wait_until(has_begun, SECONDS, pause=0.2)
        frozen, frozen_at = find_learner(server), time.monotonic()
        os.kill(frozen, signal.SIGSTOP)
        await wait_for_takeover(server, store, {frozen})
        killed = find_learner(server)
        os.kill(killed, signal.SIGKILL)
        await wait_for_takeover(server, store, {frozen, killed})
        await asyncio.sleep(
            max(0.0, WorkflowSettings().lease_seconds + 1 - (time.monotonic() - frozen_at))
        )
        os.kill(frozen, signal.SIGCONT)
        await asyncio.sleep(2)
        caller.stopped = True
        await asyncio.gather(*pushing)
        recorded = max(caller.acked.values())

        async def is_reasoned():
            return await store.get_reasoned_through() >= recorded

        await wait_until(is_reasoned, SECONDS, pause=0.2)
        thawed = next(service for service in services if service.pid == frozen)
        status = await thawed.stub.GetStatus(pb.GetStatusRequest(), timeout=SECONDS)
        assert status.learned_through >= recorded, "it goes on with what the others learned"
        assert len(await store.get_evolution_runs(9)) == 1, "a night that was due for all three"
        part = await store.read_log(0, 1 << 20)
        assert sorted(caller.acked.values()) == part.interactions.sequence.tolist(), (
            "lost or doubled"
        )
        assert server.run(WRITTEN_TWICE) == [[0]]
        by_user = server.run(WRITTEN)
        assert by_user == sorted(by_user, key=lambda row: (row[0], row[2])), (
            "a user's interactions in order"
        )
        assert await store.check() == []
