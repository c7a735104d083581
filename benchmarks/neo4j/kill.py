"""kill -9 at random moments, of the service and of Neo4j itself.

The service records, learns and reasons meanwhile. No acknowledged event may be lost, and none may
take effect twice. KILL_ROUNDS=50,10 says how often each is killed.
"""

import asyncio
import os
import random
import time
from collections.abc import Callable
from pathlib import Path

import grpc

from benchmarks.neo4j.server import neo4j_server
from benchmarks.run import Figures, Run
from benchmarks.service.real_service import serving
from propagation.adapters.neo4j.store import Neo4jStore
from propagation.v1 import propagation_pb2 as pb
from services.client.stub import connect
from tests.neo4j_server.server import Neo4jServer

ROUNDS, ROUNDS_SHORT = (50, 10), (2, 1)
USERS, ITEMS, EVENTS_A_CALL = 60, 240, 20
LONGEST_LIFE_SECONDS = 2.0
DRAIN_SECONDS = 300.0
ARGUMENTS = ("--auto-create", "--set", "round_interval=1")
Call = list[pb.Interaction]


class Pushing:
    """Sends calls until it is stopped.

    An unacknowledged call is sent again with the same ids.
    """

    def __init__(self, seed: int) -> None:
        self._draw = random.Random(seed)
        self._made = 0
        self.open: list[Call] = []
        self.acked: set[str] = set()

    async def push(self, address: str, until: Callable[[], bool]) -> None:
        async with connect(address) as stub:
            while not until():
                call = self.open[0] if self.open else self._next()
                try:
                    await stub.RecordInteractions(
                        pb.RecordInteractionsRequest(interactions=call), timeout=10
                    )
                except grpc.aio.AioRpcError:
                    await asyncio.sleep(0.1)
                    continue
                self.acked.update(event.event_id for event in self.open.pop(0))

    def _next(self) -> Call:
        self.open.append(
            [
                pb.Interaction(
                    event_id=f"e{self._made + n}",
                    user_id=f"u{self._draw.randrange(USERS)}",
                    item_id=f"i{self._draw.randrange(ITEMS)}",
                )
                for n in range(EVENTS_A_CALL)
            ]
        )
        self._made += EVENTS_A_CALL
        return self.open[-1]


def measure(run: Run) -> Figures:
    of_service, of_server = (
        map(int, os.environ.get("KILL_ROUNDS", "").split(","))
        if "KILL_ROUNDS" in os.environ
        else ROUNDS_SHORT
        if run.short
        else ROUNDS
    )
    pushing, draw, place = Pushing(3), random.Random(4), run.scratch / "kill.db"
    with neo4j_server(run, "kill") as server:
        for _ in range(of_service):
            asyncio.run(_killed_service(place, pushing, draw.uniform(0, LONGEST_LIFE_SECONDS)))
        for _ in range(of_server):
            asyncio.run(
                _killed_server(place, server, pushing, draw.uniform(0, LONGEST_LIFE_SECONDS))
            )
        asyncio.run(_finished(place, pushing))
        lost, doubled = _count_compiled(server, pushing)
        wrong = asyncio.run(_checked(server))
    run.note(
        f"{of_service} kills of the service, {of_server} of Neo4j; {len(pushing.acked):,} events"
        f" acknowledged; check: {wrong or 'sound'}"
    )
    if wrong:
        raise RuntimeError(f"the graph is not sound: {wrong[0]}")
    yield "kill_lost", float(lost)
    yield "kill_doubled", float(doubled)


async def _killed_service(place: Path, pushing: Pushing, seconds: float) -> None:
    with serving(place, *ARGUMENTS) as service:
        ends = time.monotonic() + seconds
        sending = asyncio.create_task(
            pushing.push(service.address, lambda: service.process.poll() is not None)
        )
        await asyncio.sleep(max(0.0, ends - time.monotonic()))
        service.kill()
        await sending


async def _killed_server(
    place: Path, server: Neo4jServer, pushing: Pushing, seconds: float
) -> None:
    """Kill the server and start it again.

    The service must go on by itself when the server is back.
    """
    with serving(place, *ARGUMENTS) as service:
        target = len(pushing.acked) + 10 * EVENTS_A_CALL
        back = asyncio.Event()
        sending = asyncio.create_task(
            pushing.push(service.address, lambda: back.is_set() and len(pushing.acked) >= target)
        )
        await asyncio.sleep(seconds)
        await asyncio.to_thread(server.kill)
        await asyncio.to_thread(server.start)
        target = max(target, len(pushing.acked) + 2 * EVENTS_A_CALL)
        back.set()
        await sending


async def _finished(place: Path, pushing: Pushing) -> None:
    """Wait until everything is acknowledged, learned and reasoned."""
    with serving(place, *ARGUMENTS) as service:
        await pushing.push(service.address, lambda: not pushing.open)
        async with connect(service.address) as stub:
            ends = time.monotonic() + DRAIN_SECONDS
            while time.monotonic() < ends:
                status = await stub.GetStatus(pb.GetStatusRequest())
                if status.reasoned_through >= status.learned_through >= status.recorded_through - 2:
                    return
                await asyncio.sleep(0.5)
    raise RuntimeError(f"not everything was reasoned within {DRAIN_SECONDS:.0f} s")


def _count_compiled(server: Neo4jServer, pushing: Pushing) -> tuple[int, int]:
    """Return (lost events, doubled events).

    A lost event was acknowledged, and is missing or not reasoned. A doubled event has two
    interactions, or wrote two profile versions of one client.
    """
    there = {
        row[0]
        for row in server.run(
            "MATCH (i:Interaction) WHERE i.reasoned IS NOT NULL RETURN i.event_id"
        )
    }
    total = server.run("MATCH (i:Interaction) RETURN count(i) - count(DISTINCT i.event_id)")[0][0]
    twice = server.run(
        "MATCH (i:Interaction)-[:WROTE]->(p:ProfileVersion) WITH i, p.ref AS ref, count(p) AS"
        " versions WHERE versions > 1 RETURN count(DISTINCT i)"
    )[0][0]
    assert isinstance(total, int)
    assert isinstance(twice, int)
    return len(pushing.acked - there), total + twice


async def _checked(server: Neo4jServer) -> list[str]:
    """Return the problems that the store's own check finds.

    The check looks for gaps in the log, and for interactions that are missing from the learned
    blocks or are in them twice.
    """
    store = Neo4jStore(server.settings)
    await store.open()
    try:
        return await store.check()
    finally:
        await store.close()
