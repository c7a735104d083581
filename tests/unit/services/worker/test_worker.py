"""The worker: claims beside calls, lost races, and the report of the store's state."""

import asyncio
from types import SimpleNamespace

import pytest

from propagation.model.errors import StoreUnreachable
from propagation.ports.graph.graph_store import VersionClash
from propagation.workflow.reason.reason_step import CLAIM
from propagation.workflow.settings import WorkflowSettings
from services.assembly import build_engine
from services.config.settings import ScheduleSettings, Settings
from services.runtime.process import SystemClock
from services.worker.call_priority import CallPriority
from services.worker.reason_step import MAX_LOST_RACES, ClaimResult
from services.worker.worker import Worker


class Reasoning:
    """A claim that commits one part after another, until it is asked to end early."""

    def __init__(self, size, part):
        self.committed, self.size, self.part = None, size, part
        self.ended = asyncio.Event()
        self.drafting = SimpleNamespace(
            end_early=lambda: setattr(self, "size", 0), shorten_wait=lambda: None
        )

    async def claim(self):
        self.committed = 0
        try:
            while self.committed < self.size:
                await asyncio.sleep(0.025)
                self.committed += self.part
            return self.committed
        finally:
            self.ended.set()


@pytest.fixture
def worker(tmp_path):
    engine = build_engine(
        Settings(database=tmp_path / "graph.db", reasoning_in="loop", workflow=WorkflowSettings())
    )
    worker = Worker(engine, CallPriority(), ScheduleSettings(), SystemClock())
    yield worker
    engine.numbers.close()


def set_reasoning(worker, size, part=CLAIM):
    worker._engine.reasoning = Reasoning(size, part)
    return worker._engine.reasoning


async def test_without_calls_a_claim_is_done_whole(worker):
    reasoning = set_reasoning(worker, 4 * CLAIM)
    result = await worker.reason.run_beside_calls(reasoning.claim())
    assert result == ClaimResult(4 * CLAIM, 0.0)


async def test_a_call_ends_a_claim_early_and_the_time_beside_it_is_counted(worker):
    reasoning = set_reasoning(worker, 100 * CLAIM)
    with worker._priority.call():
        result = await worker.reason.run_beside_calls(reasoning.claim())
    assert 0 < result.done < 10 * CLAIM
    assert result.busy_seconds > 0


async def test_a_stop_ends_a_claim_early(worker):
    reasoning = set_reasoning(worker, 100 * CLAIM)
    worker._stopping.set()
    result = await worker.reason.run_beside_calls(reasoning.claim())
    assert result.done < 10 * CLAIM


async def test_rounds_and_waiting_calls_are_woken_during_a_claim(worker):
    reasoning, rounds = set_reasoning(worker, 5 * CLAIM), 0
    advance, advances = worker._progress.advance, []
    worker._progress.advance = lambda: (advances.append(reasoning.committed), advance())
    claiming = asyncio.create_task(worker.reason.run_beside_calls(reasoning.claim()))
    while not claiming.done():
        rounds += worker._round_loop.wake.is_set()
        worker._round_loop.wake.clear()
        await asyncio.sleep(0.001)
    assert rounds >= 3
    assert len(advances) >= 3


async def test_a_cancelled_step_cancels_its_claim(worker):
    reasoning = set_reasoning(worker, 100 * CLAIM)
    step = asyncio.create_task(worker.reason.run_beside_calls(reasoning.claim()))
    await asyncio.sleep(0.05)
    step.cancel()
    await asyncio.gather(step, return_exceptions=True)
    assert reasoning.ended.is_set()


async def test_lost_races_are_repeated_and_raised_when_they_never_end(worker, monkeypatch):
    monkeypatch.setattr("services.worker.reason_step.RACE_SECONDS", 0)
    lost = 0

    async def loses(*_, **__):
        nonlocal lost
        lost += 1
        raise VersionClash(3)

    async def wins(*_, **__):
        return 0

    monkeypatch.setattr(worker._engine, "reason", loses)
    assert [await worker.reason.run() for _ in range(MAX_LOST_RACES)] == [1] * MAX_LOST_RACES
    monkeypatch.setattr(worker._engine, "reason", wins)
    assert await worker.reason.run() == 0
    monkeypatch.setattr(worker._engine, "reason", loses)
    for _ in range(MAX_LOST_RACES):  # counted anew since one was won
        await worker.reason.run()
    with pytest.raises(VersionClash):
        await worker.reason.run()
    assert lost == 2 * MAX_LOST_RACES + 1


class Health:
    def __init__(self):
        self.reports = []

    async def report_store(self, reachable):
        self.reports.append(reachable)


async def test_health_hears_only_of_changes_of_the_store(worker, monkeypatch):
    answers, health = [0, 0, None, None, 0, 0], Health()

    async def follow():
        if answers.pop(0) is None:
            raise StoreUnreachable("away")
        return 3

    monkeypatch.setattr(worker._engine, "follow", follow)
    worker._health = health
    for reachable in (True, True, False, False, True, True):
        if reachable:
            assert await worker._follow() == 0
        else:
            with pytest.raises(StoreUnreachable):
                await worker._follow()
    assert health.reports == [False, True]
