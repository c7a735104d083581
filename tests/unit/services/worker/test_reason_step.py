"""The reasoning step: claims beside calls, and races lost to other processes."""

import asyncio
from types import SimpleNamespace

import pytest

from propagation.ports import VersionClash
from propagation.workflow.reason.reasoning import CLAIM
from services.worker.call_priority import CallPriority
from services.worker.reason_step import MAX_LOST_RACES, ReasonStep, run_claim
from services.worker.steps import WorkerContext


class Reasoning:
    """A claim that commits one part after another, until it is asked to end early."""

    def __init__(self, size, part):
        self.committed, self.size, self.part = None, size, part
        self.ended = asyncio.Event()

    def stop_early(self):
        self.size = 0

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
def context():
    return WorkerContext(SimpleNamespace(), CallPriority())


def set_reasoning(context, size, part=CLAIM):
    reasoning = Reasoning(size, part)
    context.engine.reasoning, context.engine.stop_claim_early = reasoning, reasoning.stop_early
    return reasoning


async def test_without_calls_a_claim_is_done_whole(context):
    reasoning = set_reasoning(context, 4 * CLAIM)
    assert await run_claim(reasoning.claim(), context) == (4 * CLAIM, 0.0)


async def test_a_call_ends_a_claim_early_and_the_time_beside_it_is_counted(context):
    reasoning = set_reasoning(context, 100 * CLAIM)
    with context.priority.call():
        done, busy_seconds = await run_claim(reasoning.claim(), context)
    assert 0 < done < 10 * CLAIM
    assert busy_seconds > 0


async def test_a_stop_ends_a_claim_early(context):
    reasoning = set_reasoning(context, 100 * CLAIM)
    context.stopping.set()
    done, _ = await run_claim(reasoning.claim(), context)
    assert done < 10 * CLAIM


async def test_rounds_and_waiting_calls_are_woken_during_a_claim(context):
    reasoning, rounds = set_reasoning(context, 5 * CLAIM), 0
    advance, advances = context.progress.advance, []
    context.progress.advance = lambda: (advances.append(reasoning.committed), advance())
    claiming = asyncio.create_task(run_claim(reasoning.claim(), context))
    while not claiming.done():
        rounds += context.wakes["round"].is_set()
        context.wakes["round"].clear()
        await asyncio.sleep(0.001)
    assert rounds >= 3
    assert len(advances) >= 3


async def test_a_cancelled_step_cancels_its_claim(context):
    reasoning = set_reasoning(context, 100 * CLAIM)
    task = asyncio.create_task(run_claim(reasoning.claim(), context))
    await asyncio.sleep(0.05)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert reasoning.ended.is_set()


async def test_lost_races_are_repeated_and_raised_when_they_never_end(context, monkeypatch):
    monkeypatch.setattr("services.worker.reason_step.RACE_SECONDS", 0)
    lost, step = 0, ReasonStep()
    context.engine.reasoning = SimpleNamespace(by_claims=False, beside=False)

    async def raise_clash(*_, **__):
        nonlocal lost
        lost += 1
        raise VersionClash(3)

    async def return_zero(*_, **__):
        return 0

    context.engine.reason = raise_clash
    assert [await step.run(context) for _ in range(MAX_LOST_RACES)] == [1] * MAX_LOST_RACES
    context.engine.reason = return_zero
    assert await step.run(context) == 0
    context.engine.reason = raise_clash
    for _ in range(MAX_LOST_RACES):  # counted anew since one was won
        await step.run(context)
    with pytest.raises(VersionClash):
        await step.run(context)
    assert lost == 2 * MAX_LOST_RACES + 1
