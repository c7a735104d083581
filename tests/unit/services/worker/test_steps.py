"""The short steps of the worker, on a stub of the engine."""

import asyncio
from types import SimpleNamespace

import pytest

from propagation.model.errors import IndexUnavailable, NotFound, StoreUnreachable
from services.runtime.tasks import Progress, UninterruptedWork
from services.worker import steps
from services.worker.call_priority import CallPriority
from services.worker.steps import FollowStep, IndexStep, LearnStep, MergeStep, RetentionStep


class Health:
    def __init__(self):
        self.reports = []

    async def report_store(self, reachable):
        self.reports.append(reachable)


def returning(*answers):
    """An async function that gives these answers, one a call; an error is raised."""
    remaining = list(answers)

    async def call(*_):
        answer = remaining.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    return call


async def test_what_was_learned_wakes_reasoning_and_waiting_calls():
    wake, progress = asyncio.Event(), Progress()
    engine = SimpleNamespace(learn=returning(0, 5))
    step = LearnStep(engine, CallPriority(), progress, wake)
    waiting = asyncio.create_task(progress.wait(60))
    await asyncio.sleep(0)
    assert await step.run() == 0
    assert not wake.is_set()
    assert await step.run() == 5
    assert wake.is_set()
    async with asyncio.timeout(5):
        await waiting


async def test_a_forgotten_client_is_passed_over_when_merging():
    step = MergeStep(
        SimpleNamespace(merged_profile=returning(NotFound("user", "ann"), None)), CallPriority()
    )
    step.add(3)
    step.add(4)
    assert [await step.run() for _ in range(3)] == [1, 1, 0]


def test_merges_beyond_the_limit_are_dropped(monkeypatch):
    monkeypatch.setattr(steps, "MAX_PENDING_MERGES", 2)
    step = MergeStep(None, CallPriority())
    for ref in (1, 2, 3):
        step.add(ref)
    assert list(step.pending) == [1, 2]


async def test_retention_waits_for_a_stop_and_for_uninterrupted_work():
    stopping, uninterrupted, done = asyncio.Event(), UninterruptedWork(), asyncio.Event()
    engine = SimpleNamespace(retain=returning(True))
    step = RetentionStep(engine, CallPriority(), stopping, uninterrupted)
    erasure = asyncio.create_task(uninterrupted.run(done.wait()))
    await asyncio.sleep(0)
    assert not await step.run(), "an erasure is under way"
    done.set()
    await erasure
    assert await step.run()
    stopping.set()
    assert not await step.run(), "the worker stops"


async def test_a_problem_of_the_index_fails_the_step():
    engine = SimpleNamespace(update_index=returning(1, 0), index_problem=None)
    assert await IndexStep(engine).run() == 1
    engine.index_problem = "no answer"
    with pytest.raises(IndexUnavailable, match="no answer"):
        await IndexStep(engine).run()


async def test_health_hears_only_of_changes_of_the_store():
    away, health = StoreUnreachable("away"), Health()
    step = FollowStep(SimpleNamespace(follow=returning(3, 0, away, away, 0, 0)), health)
    for reachable in (True, True, False, False, True, True):
        if reachable:
            assert await step.run() == 0
        else:
            with pytest.raises(StoreUnreachable):
                await step.run()
    assert health.reports == [False, True]
