"""The short steps of the worker, on a stub of the engine."""

import asyncio
from types import SimpleNamespace

import pytest

from propagation.model import IndexUnavailable, NotFound, StoreRefused, StoreUnreachable
from services.worker import steps
from services.worker.call_priority import CallPriority
from services.worker.steps import WorkerContext
from tests.waiting import wait_until


def make_context(**engine):
    return WorkerContext(SimpleNamespace(**engine), CallPriority())


def make_call(*answers):
    """An async function that gives these answers, one a call; an error is raised."""
    remaining = list(answers)

    async def call(*_, **__):
        answer = remaining.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    return call


async def test_what_was_learned_wakes_reasoning_and_waiting_calls():
    context = make_context(learn=make_call(0, 5))
    waiting = asyncio.create_task(context.progress.wait(60))
    await asyncio.sleep(0)
    assert await steps.learn(context) == 0
    assert not context.wakes["reason"].is_set()
    assert await steps.learn(context) == 5
    assert context.wakes["reason"].is_set()
    async with asyncio.timeout(5):
        await waiting


async def test_a_forgotten_client_is_passed_over_when_merging():
    context = make_context(read_profile=make_call(NotFound("user", "ann"), None))
    steps.queue_merge(context, 3)
    steps.queue_merge(context, 4)
    assert context.wakes["merge"].is_set()
    assert [await steps.merge(context) for _ in range(3)] == [1, 1, 0]


def test_merges_beyond_the_limit_are_dropped(monkeypatch):
    monkeypatch.setattr(steps, "MAX_PENDING_MERGES", 2)
    context = make_context()
    for ref in (1, 2, 3):
        steps.queue_merge(context, ref)
    assert list(context.pending_merges) == [1, 2]


async def test_retention_waits_for_a_stop_and_for_uninterrupted_work():
    context, done = make_context(retain=make_call(True)), asyncio.Event()
    erasure = asyncio.create_task(context.uninterrupted.run(done.wait()))
    await asyncio.sleep(0)
    assert not await steps.retain(context), "an erasure is under way"
    done.set()
    await erasure
    assert await steps.retain(context)
    context.stopping.set()
    assert not await steps.retain(context), "the worker stops"


async def test_a_problem_of_the_index_fails_the_step():
    context = make_context(
        update_index=make_call(1, 0), index_problem=None, is_round_under_way=False
    )
    assert await steps.update_index(context) == 1
    context.engine.index_problem = "no answer"
    with pytest.raises(IndexUnavailable, match="no answer"):
        await steps.update_index(context)


async def test_an_index_that_waits_for_a_round_is_shown_but_has_not_failed(monkeypatch):
    monkeypatch.setattr(steps, "IDLE_SECONDS", 0.01)
    context = make_context(
        update_index=make_call(*[0] * 1_000), index_problem="made again", is_round_under_way=True
    )
    loop = asyncio.create_task(steps.repeat_step("index", steps.update_index, context))
    await wait_until(lambda: "index" in context.failures.reasons, 5)
    assert context.failures.reasons["index"] == "made again; this waits for the end of a round"
    context.engine.is_round_under_way, context.engine.index_problem = False, ""
    await wait_until(lambda: not context.failures.reasons, 5)
    assert not context.failures.counters
    context.stopping.set()
    await asyncio.wait_for(loop, 5)


async def test_health_hears_whether_the_store_answers():
    reports = []
    store = SimpleNamespace(
        get_recorded_through=make_call(3, StoreUnreachable("away"), StoreRefused("who?"), 0)
    )
    context = make_context(store=store)

    async def report(reachable):
        reports.append((reachable, context.outage.reason, context.outage.began.is_set()))

    assert await steps.check_store(report, context) == 0
    for error in (StoreUnreachable, StoreRefused):
        with pytest.raises(error):
            await steps.check_store(report, context)
    assert await steps.check_store(report, context) == 0
    well, away, refused = (True, "", False), (False, "away", True), (False, "who?", True)
    assert reports == [well, away, refused, well]


class StatedLoad(CallPriority):
    """Notes the rests, and counts as idle."""

    def __init__(self):
        super().__init__()
        self.rested = []

    async def rest(self, worked, times=None):
        self.rested.append(worked)


async def test_a_withdrawal_is_prepared_in_pieces_with_rests_between_them():
    async def pieces():
        for _ in range(3):
            await asyncio.sleep(0.01)
            yield

    priority = StatedLoad()
    context = WorkerContext(SimpleNamespace(prepare_withdrawal=pieces), priority)
    async with asyncio.timeout(5):
        await steps.prepare_withdrawal(context)
    assert len(priority.rested) == 3
    assert all(0.009 < worked < 1 for worked in priority.rested)


async def test_a_withdrawal_is_prepared_again_if_the_store_was_away(monkeypatch):
    monkeypatch.setattr(steps, "PREPARE_AGAIN_SECONDS", 0.0)
    away, prepared = [True], []

    async def pieces():
        yield
        if away.pop() if away else False:
            raise StoreUnreachable("away")
        yield
        prepared.append(True)

    async with asyncio.timeout(5):
        await steps.prepare_withdrawal(make_context(prepare_withdrawal=pieces))
    assert prepared == [True]
