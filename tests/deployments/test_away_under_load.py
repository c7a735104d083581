"""A graph server that goes away under load and comes back, at the running service: several callers,
reads too."""

import asyncio
import contextlib
import json
import time
from collections import Counter

import grpc
import pytest

from propagation.v1 import propagation_pb2 as pb
from propagation.v1.propagation_pb2_grpc import PropagationServiceStub
from tests.deployments.service_processes import (
    SECONDS,
    Status,
    measure_seconds_until_health,
    read_health,
    relay_port,
    start_service,
)
from tests.neo4j_server.shared import get_server
from tests.ports import find_free_port

pytestmark = [pytest.mark.neo4j, pytest.mark.slow]
SETTINGS = (
    "session.k=4",
    "taste.k=4",
    "table_edges=2",
    "update_size=20",
    "round_interval=1",
    "neo4j.retry_seconds=2",
)
WRITERS, USERS, ITEMS, EVENTS_A_CALL = 4, 20, 60, 5
AWAY_SECONDS = 10
KNOWN = (pb.INTERACTION_STATUS_ACCEPTED, pb.INTERACTION_STATUS_DUPLICATE)


def is_from_driver(line):
    """Tell whether asyncio reports a connection attempt that failed as its call was cancelled.

    Until Python 3.12 the driver waits for an attempt in a task of its own, and if the call is
    cancelled in the same turn in which the attempt fails, nobody takes the task's exception.
    """
    return line["logger"] == "asyncio" and "sock_connect()" in line["event"]


class Load:
    """Callers who call until they are stopped; after a refusal they send the same call again.

    `answered` counts answers by caller; `refused` holds the refusals since the last look.
    """

    def __init__(self, stub):
        self._stub = stub
        self.acked, self.answered, self.refused, self.stopped = {}, Counter(), [], False
        reads = {
            "recommend": lambda: stub.Recommend(
                pb.RecommendRequest(user_id="u0", limit=5), timeout=SECONDS
            ),
            "profile": lambda: stub.GetProfile(
                pb.GetProfileRequest(key=pb.ClientKey(kind=pb.CLIENT_KIND_USER, id="u1")),
                timeout=SECONDS,
            ),
            "status": lambda: stub.GetStatus(pb.GetStatusRequest(), timeout=SECONDS),
        }
        self.callers = [f"writer {n}" for n in range(WRITERS)] + list(reads)
        self._tasks = [
            *(asyncio.create_task(self._write(n)) for n in range(WRITERS)),
            *(asyncio.create_task(self._read(name, read)) for name, read in reads.items()),
        ]

    async def stop(self):
        """Each after an answer."""
        self.stopped = True
        await asyncio.gather(*self._tasks)

    async def _write(self, caller):
        call = caller
        while not self.stopped:
            events = [
                pb.Interaction(
                    event_id=f"{call}-{n}",
                    user_id=f"u{(call + n) % USERS}",
                    item_id=f"i{call * (n + 1) % ITEMS}",
                )
                for n in range(EVENTS_A_CALL)
            ]
            request = pb.RecordInteractionsRequest(interactions=events)
            answer = await self._call_service(
                f"writer {caller}",
                lambda request=request: self._stub.RecordInteractions(request, timeout=SECONDS),
            )
            for outcome in answer.outcomes:
                assert outcome.status in KNOWN, outcome
                assert self.acked.setdefault(outcome.event_id, outcome.sequence) == outcome.sequence
            call += WRITERS

    async def _read(self, name, read):
        while not self.stopped:
            await self._call_service(name, read)

    async def _call_service(self, caller, call):
        while True:
            try:
                answer = await call()
            except grpc.aio.AioRpcError as error:
                if (
                    error.code() != grpc.StatusCode.NOT_FOUND
                ):  # a read of a user that no event has named yet
                    self.refused.append((caller, error))
            else:
                self.answered[caller] += 1
                await asyncio.sleep(0.05)
                return answer
            await asyncio.sleep(0.2)

    async def all_answered(self):
        """Wait until each caller has had one more answer."""
        before = self.answered.copy()
        await wait_under_load(
            lambda: all(self.answered[caller] > before[caller] for caller in self.callers), self
        )


async def wait_under_load(condition, load):
    """Wait for the condition; raise the error of a caller that had one."""
    begun = time.monotonic()
    while not condition():
        for task in load._tasks:
            if task.done() and not load.stopped:
                task.result()
        assert time.monotonic() - begun < SECONDS, (load.answered, load.refused[-9:])
        await asyncio.sleep(0.1)


async def wait_until_quiet(stub, after_round):
    """The status once nothing waits, nothing fails, and a round came after that one."""
    begun = time.monotonic()
    while True:
        status = await stub.GetStatus(pb.GetStatusRequest(), timeout=SECONDS)
        if (
            status.recorded_through == status.learned_through == status.reasoned_through
            and not status.failing
            and status.last_round.number > after_round
        ):
            return status
        assert time.monotonic() - begun < SECONDS, status
        await asyncio.sleep(0.2)


async def collect_lines(stream, lines):
    """What it logs: a pipe that nobody reads would stop it."""
    while line := await stream.readline():
        lines.append(json.loads(line))


async def test_acks_stop_nothing_is_lost_and_it_recovers_alone(tmp_path):
    neo4j, port, lines = get_server(tmp_path), find_free_port(), []
    async with (
        start_service(tmp_path, port, neo4j.settings.password.get_secret_value(), *SETTINGS) as (
            process,
            own,
        ),
        grpc.aio.insecure_channel(f"127.0.0.1:{own}") as channel,
    ):
        stub, reading = (
            PropagationServiceStub(channel),
            asyncio.create_task(collect_lines(process.stderr, lines)),
        )
        async with relay_port(port, neo4j):
            await asyncio.wait_for(process.stdout.readline(), SECONDS)
            load = Load(stub)
            await load.all_answered()
            await wait_under_load(lambda: len(load.acked) > 200, load)
            assert not load.refused
            assert await read_health(channel) == Status.SERVING
            before = (
                await stub.GetStatus(pb.GetStatusRequest(), timeout=SECONDS)
            ).last_round.number
        acked = len(load.acked)
        await asyncio.sleep(0.5)  # answers that were under way
        assert len(load.acked) - acked <= WRITERS * EVENTS_A_CALL
        acked, gone = len(load.acked), time.monotonic()
        await measure_seconds_until_health(channel, Status.NOT_SERVING)
        await wait_under_load(
            lambda: {caller for caller, _ in load.refused} >= set(load.callers) - {"recommend"},
            load,
        )
        await asyncio.sleep(max(0.0, AWAY_SECONDS - (time.monotonic() - gone)))
        assert len(load.acked) == acked, "acknowledged without a server"
        for _, error in load.refused:
            assert error.code() == grpc.StatusCode.UNAVAILABLE, error
            assert "does not answer" in error.details()
            assert "start the server" in error.details()
            assert "\n" not in error.details()
        async with relay_port(port, neo4j):
            await measure_seconds_until_health(channel, Status.SERVING)
            await load.all_answered()
            load.refused.clear()
            await load.all_answered()
            assert not load.refused, "refused with a server there"
            await load.stop()
            status = await wait_until_quiet(stub, before)
            rows = neo4j.run("MATCH (i:Interaction) RETURN i.event_id, i.sequence")
            assert sorted(rows) == sorted(
                [id_, sequence] for id_, sequence in load.acked.items()
            ), "lost or doubled"
            assert status.recorded_through >= len(rows)
            assert not status.dead_letters
            process.terminate()
            assert await asyncio.wait_for(process.wait(), SECONDS) == 0
        with contextlib.suppress(asyncio.CancelledError):
            await reading
        assert [
            line for line in lines if line["level"] == "error" and not is_from_driver(line)
        ] == []
