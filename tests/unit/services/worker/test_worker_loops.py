"""Loops of the worker: when a step is retried, when a job runs, and what is reported."""

import asyncio

import pytest

from propagation.model import EndpointUnavailable, ReasonerUnavailable, StoreUnreachable
from services.worker import steps
from services.worker.call_priority import CallPriority
from services.worker.steps import WorkerContext, repeat_job, repeat_step


@pytest.fixture
def context():
    return WorkerContext(None, CallPriority())


@pytest.fixture
def failures(context):
    return context.failures


@pytest.mark.parametrize(
    ("error", "longest"),
    [(EndpointUnavailable, 2.0), (StoreUnreachable, 2.0), (ReasonerUnavailable, 30.0)],
)
async def test_a_failed_step_is_retried_later_each_time(context, monkeypatch, error, longest):
    """A server that is away is tried again within seconds; a spent budget less often."""
    pauses, failures = [], context.failures

    async def pause(event, seconds):
        pauses.append(seconds)
        if len(pauses) == 9:
            context.stopping.set()

    async def fail(_):
        raise error("no answer")

    monkeypatch.setattr(steps, "wait_for_event", pause)
    await repeat_step("reason", fail, context)
    assert pauses[:3] == [0.5, 1.0, 2.0]
    assert max(pauses) == pauses[-1] == longest
    assert "no answer; next try at" in failures.reasons["reason"]
    assert failures.counters == {("steps_failed_total", "reason"): 9}


async def test_a_step_that_succeeds_is_no_longer_shown_as_failing(context, monkeypatch):
    results = [ValueError("holds a user's text"), 3, 0]

    async def step(_):
        result = results.pop(0)
        if isinstance(result, Exception):
            raise result
        if not results:
            context.stopping.set()
        return result

    shown = []

    async def pause(event, seconds):
        shown.append(dict(context.failures.reasons))

    monkeypatch.setattr(steps, "wait_for_event", pause)
    await repeat_step("learn", step, context)
    assert "ValueError; see the log" in shown[0]["learn"], "the text of an unexpected error is not"
    assert shown[1] == {}
    assert context.timings["learn"].calls == 1, "a step that did nothing is not timed"


async def test_a_job_runs_again_after_a_failure(failures):
    outcomes, runs = [RuntimeError("broken"), None], asyncio.Queue()

    async def work():
        outcome = outcomes.pop(0) if outcomes else None
        runs.put_nowait(dict(failures.reasons))
        if outcome:
            raise outcome

    task = asyncio.create_task(repeat_job("often", 0.01, work, failures))
    async with asyncio.timeout(10):
        reasons_by_run = [await runs.get() for _ in range(3)]
    task.cancel()
    assert [list(reasons) for reasons in reasons_by_run] == [[], ["often"], []]
    assert failures.counters == {("jobs_failed_total", "often"): 1}


async def test_a_job_waits_its_interval_unless_it_runs_at_once(failures):
    ran = []

    async def work():
        ran.append(1)

    for at_once in (False, True):
        task = asyncio.create_task(repeat_job("hourly", 3_600, work, failures, at_once=at_once))
        await asyncio.sleep(0.02)
        task.cancel()
        assert len(ran) == at_once


@pytest.mark.parametrize("rests", [False, True])
async def test_a_job_that_rests_pauses_for_as_long_as_it_worked(failures, rests):
    loop, times = asyncio.get_running_loop(), asyncio.Queue()

    async def work():
        began = loop.time()
        await asyncio.sleep(0.1)
        times.put_nowait((began, loop.time()))

    task = asyncio.create_task(repeat_job("long", 0.01, work, failures, rests=rests))
    async with asyncio.timeout(10):
        (began, ended), (again, _) = [await times.get() for _ in range(2)]
    task.cancel()
    assert (again - ended >= ended - began) == rests
