"""The reasoning step: claims beside calls, and races lost to other processes."""

import asyncio
from types import SimpleNamespace

import pytest

from propagation.ports.graph.graph_store import VersionClash
from propagation.workflow.reason.reason_step import CLAIM
from services.runtime.tasks import Progress, UninterruptedWork
from services.worker.call_priority import CallPriority
from services.worker.reason_step import MAX_LOST_RACES, ClaimResult, ReasonStep


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
def step():
    return ReasonStep(
        SimpleNamespace(),
        CallPriority(),
        Progress(),
        asyncio.Event(),
        UninterruptedWork(),
        asyncio.Event(),
    )


def set_reasoning(step, size, part=CLAIM):
    step._engine.reasoning = Reasoning(size, part)
    return step._engine.reasoning


async def test_without_calls_a_claim_is_done_whole(step):
    reasoning = set_reasoning(step, 4 * CLAIM)
    result = await step.run_beside_calls(reasoning.claim())
    assert result == ClaimResult(4 * CLAIM, 0.0)


async def test_a_call_ends_a_claim_early_and_the_time_beside_it_is_counted(step):
    reasoning = set_reasoning(step, 100 * CLAIM)
    with step._priority.call():
        result = await step.run_beside_calls(reasoning.claim())
    assert 0 < result.done < 10 * CLAIM
    assert result.busy_seconds > 0


async def test_a_stop_ends_a_claim_early(step):
    reasoning = set_reasoning(step, 100 * CLAIM)
    step._stopping.set()
    result = await step.run_beside_calls(reasoning.claim())
    assert result.done < 10 * CLAIM


async def test_rounds_and_waiting_calls_are_woken_during_a_claim(step):
    reasoning, rounds = set_reasoning(step, 5 * CLAIM), 0
    advance, advances = step._progress.advance, []
    step._progress.advance = lambda: (advances.append(reasoning.committed), advance())
    claiming = asyncio.create_task(step.run_beside_calls(reasoning.claim()))
    while not claiming.done():
        rounds += step._round_wake.is_set()
        step._round_wake.clear()
        await asyncio.sleep(0.001)
    assert rounds >= 3
    assert len(advances) >= 3


async def test_a_cancelled_step_cancels_its_claim(step):
    reasoning = set_reasoning(step, 100 * CLAIM)
    task = asyncio.create_task(step.run_beside_calls(reasoning.claim()))
    await asyncio.sleep(0.05)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert reasoning.ended.is_set()


async def test_lost_races_are_repeated_and_raised_when_they_never_end(step, monkeypatch):
    monkeypatch.setattr("services.worker.reason_step.RACE_SECONDS", 0)
    lost = 0
    step._engine.reasoning = SimpleNamespace(by_claims=False, beside=False)

    async def loses(*_, **__):
        nonlocal lost
        lost += 1
        raise VersionClash(3)

    async def wins(*_, **__):
        return 0

    step._engine.reason = loses
    assert [await step.run() for _ in range(MAX_LOST_RACES)] == [1] * MAX_LOST_RACES
    step._engine.reason = wins
    assert await step.run() == 0
    step._engine.reason = loses
    for _ in range(MAX_LOST_RACES):  # counted anew since one was won
        await step.run()
    with pytest.raises(VersionClash):
        await step.run()
    assert lost == 2 * MAX_LOST_RACES + 1
