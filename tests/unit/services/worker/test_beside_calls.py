"""While a process beside the service drafts a claim: who waits is heard, rounds go on, nothing
outlives the step."""

import asyncio
from types import SimpleNamespace

import pytest

from propagation.model.errors import EndpointUnavailable, ReasonerUnavailable, StoreUnreachable
from propagation.ports.graph.graph_store import VersionClash
from propagation.workflow.reason.reason_step import CLAIM
from propagation.workflow.settings import WorkflowSettings
from services.assembly import build_engine
from services.config.settings import ScheduleSettings, Settings
from services.runtime.process import SystemClock
from services.worker.call_priority import CallPriority
from services.worker.reason_step import RACES_LOST
from services.worker.worker import Worker


class Reasoning:
    """A claim that commits so much at a time, until it is told that it is enough."""

    def __init__(self, size, part):
        self.committed, self.size, self.part = None, size, part
        self.ended = asyncio.Event()
        self.drafting = SimpleNamespace(enough=lambda: setattr(self, "size", 0), hurry=lambda: None)

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


def reasons(worker, size, part=CLAIM):
    worker._engine.reasoning = Reasoning(size, part)
    return worker._engine.reasoning


async def test_alone_it_is_done_whole_and_nothing_is_rested_for(worker):
    reasoning = reasons(worker, 4 * CLAIM)
    assert await worker.reason.beside_calls(reasoning.claim()) == (4 * CLAIM, 0.0)


async def test_a_call_ends_it_and_the_time_beside_the_call_is_counted(worker):
    reasoning = reasons(worker, 100 * CLAIM)
    with worker._priority.call():
        done, worked = await worker.reason.beside_calls(reasoning.claim())
    assert 0 < done < 10 * CLAIM
    assert worked > 0


async def test_a_stop_ends_it(worker):
    reasoning = reasons(worker, 100 * CLAIM)
    worker._stopping.set()
    done, _ = await worker.reason.beside_calls(reasoning.claim())
    assert done < 10 * CLAIM


async def test_rounds_are_asked_for_inside_of_it_and_whoever_waits_is_told(worker):
    reasoning, woken = reasons(worker, 5 * CLAIM), 0
    moved, told = worker.reason._moved, []
    worker.reason._moved = lambda: (told.append(reasoning.committed), moved())
    claiming = asyncio.create_task(worker.reason.beside_calls(reasoning.claim()))
    while not claiming.done():
        woken += worker._wake["round"].is_set()
        worker._wake["round"].clear()
        await asyncio.sleep(0.001)
    assert woken >= 3
    assert len(told) >= 3


async def test_given_up_it_leaves_nothing_running(worker):
    reasoning = reasons(worker, 100 * CLAIM)
    step = asyncio.create_task(worker.reason.beside_calls(reasoning.claim()))
    await asyncio.sleep(0.05)
    step.cancel()
    await asyncio.gather(step, return_exceptions=True)
    assert reasoning.ended.is_set()


async def test_lost_races_are_run_again_and_told_when_they_never_end(worker, monkeypatch):
    monkeypatch.setattr("services.worker.reason_step.RACE_SECONDS", 0)
    lost = 0

    async def loses(*_, **__):
        nonlocal lost
        lost += 1
        raise VersionClash(3)

    async def wins(*_, **__):
        return 0

    monkeypatch.setattr(worker._engine, "reason", loses)
    assert [await worker.reason.step() for _ in range(RACES_LOST)] == [1] * RACES_LOST
    monkeypatch.setattr(worker._engine, "reason", wins)
    assert await worker.reason.step() == 0
    monkeypatch.setattr(worker._engine, "reason", loses)
    for _ in range(RACES_LOST):  # counted anew since one was won
        await worker.reason.step()
    with pytest.raises(VersionClash):
        await worker.reason.step()
    assert lost == 2 * RACES_LOST + 1


@pytest.mark.parametrize(
    ("error", "longest"),
    [(EndpointUnavailable, 2.0), (StoreUnreachable, 2.0), (ReasonerUnavailable, 30.0)],
)
async def test_an_endpoint_that_is_down_is_looked_at_again_soon(
    worker, monkeypatch, error, longest
):
    """Who asks it bounds how often it is asked; a spent budget is looked at less often."""
    pauses = []

    async def woken(event, seconds):
        pauses.append(seconds)
        if len(pauses) == 9:
            worker._stopping.set()

    async def step():
        raise error("nobody answers")

    monkeypatch.setattr("services.worker.worker.woken", woken)
    await worker._loop("reason", step)
    assert pauses[:3] == [0.5, 1.0, 2.0]
    assert max(pauses) == pauses[-1] == longest
