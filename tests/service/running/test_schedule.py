"""Jobs by the calendar, in a real service on a clock that the test sets."""

from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta

import grpc
import pytest

import services.worker.worker
from propagation.model import ReasonerFailed
from propagation.v1 import propagation_pb2 as pb
from propagation.v1.propagation_pb2_grpc import PropagationServiceStub
from propagation.workflow.settings import WorkflowSettings
from services.config.settings import ScheduleSettings, ServerSettings, Settings
from services.server import run_service
from tests.service.conftest import SMALL
from tests.waiting import wait_until


class ManualClock:
    """A clock that a test sets."""

    def __init__(self):
        self.now = datetime(2026, 3, 27, 12, tzinfo=UTC)

    def now_ms(self):
        return round(self.now.timestamp() * 1_000)


@pytest.fixture
def start_service(tmp_path, monkeypatch):
    """Starts a service that evolves at half past two in Berlin: on its stub, its engine and its
    clock."""
    monkeypatch.setattr(services.worker.worker, "CHECK_SECONDS", 0.02)
    clock = ManualClock()
    settings = Settings(
        database=tmp_path / "graph.db",
        reasoning_in="loop",
        server=ServerSettings(port=0, grace_seconds=1),
        schedule=ScheduleSettings(evolution="30 2 * * *", time_zone="Europe/Berlin"),
        workflow=WorkflowSettings(**SMALL, auto_create=True),
    )

    @asynccontextmanager
    async def start():
        async with (
            run_service(settings, clock=clock) as service,
            grpc.aio.insecure_channel(service.address) as channel,
        ):
            yield PropagationServiceStub(channel), service.engine, clock

    return start


async def wait_for_status(stub, reached):
    async def status():
        answer = await stub.GetStatus(pb.GetStatusRequest())
        return answer if reached(answer) else None

    return await wait_until(status)


async def list_runs(stub):
    return (await stub.ListEvolutionRuns(pb.ListEvolutionRunsRequest())).runs


async def test_nights_that_a_stopped_service_missed_are_one_run_at_its_start(start_service):
    async with start_service() as (stub, engine, clock):
        status = await wait_for_status(stub, lambda status: status.jobs[0].HasField("next"))
        assert status.jobs[0].next.ToDatetime() == datetime(2026, 3, 28, 1, 30)
        await _wait_for_first_check(engine)
        assert not list(await list_runs(stub))
    clock.now += timedelta(days=4)
    async with start_service() as (stub, _, _):
        status = await wait_for_status(stub, lambda status: status.jobs[0].HasField("last"))
        assert status.jobs[0].last.ToDatetime(UTC) == clock.now
        assert status.jobs[0].next.ToDatetime() == datetime(2026, 4, 1, 0, 30)
        assert len(await list_runs(stub)) == 1


async def test_a_night_that_fails_is_in_the_status_until_it_succeeds(start_service, monkeypatch):
    async with start_service() as (stub, engine, clock):
        await _wait_for_first_check(engine)
        evolve = engine.evolve

        async def raise_timeout(**_):
            raise ReasonerFailed("the model timed out")

        monkeypatch.setattr(engine, "evolve", raise_timeout)
        clock.now += timedelta(days=1)
        status = await wait_for_status(stub, lambda status: status.jobs[0].failures)
        assert ReasonerFailed.public_reason in status.failing["evolution"]
        assert (status.jobs[0].failures, status.jobs[0].error) == (1, ReasonerFailed.public_reason)
        assert status.jobs[0].retry.ToDatetime(UTC) == clock.now + timedelta(seconds=60)
        monkeypatch.setattr(engine, "evolve", evolve)
        clock.now += timedelta(seconds=61)
        status = await wait_for_status(stub, lambda status: not status.failing)
        assert status.jobs[0].HasField("last")
        assert len(await list_runs(stub)) == 1


async def _wait_for_first_check(engine):
    await wait_until(lambda: engine.store.get_blob("job:evolution"))
