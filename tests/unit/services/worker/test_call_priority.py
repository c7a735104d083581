"""Priority of calls: reasoning rests while calls wait, works fully otherwise, never starves."""

import asyncio
import time

import pytest

from services.worker.call_priority import (
    MAX_LAG_SECONDS,
    MAX_REST_FACTOR,
    MAX_REST_SECONDS,
    MAX_YIELD_SECONDS,
    SLICE_SECONDS,
    CallPriority,
)


def hold_loop():
    """Hold the loop for twice the slice, as reasoning does."""
    time.sleep(2 * SLICE_SECONDS)


async def yield_seconds(priority):
    """Measure how long yield_to_calls takes after a piece of work."""
    await priority.yield_to_calls()
    hold_loop()
    before = time.monotonic()
    await priority.yield_to_calls()
    return time.monotonic() - before


async def test_without_calls_reasoning_hardly_rests():
    assert (
        min([await yield_seconds(CallPriority()) for _ in range(5)])
        < MAX_REST_FACTOR * SLICE_SECONDS
    )


async def test_while_a_call_waits_reasoning_rests_longer_than_it_works():
    priority = CallPriority()
    with priority.call():
        assert await yield_seconds(priority) >= 2 * SLICE_SECONDS


async def test_a_call_that_waits_for_reasoning_does_not_slow_it():
    priority = CallPriority()
    with priority.call(), priority.waiting():
        assert not priority.busy


async def test_an_endless_call_does_not_starve_reasoning():
    priority = CallPriority()
    with priority.call():
        async with asyncio.timeout(100 * MAX_YIELD_SECONDS):
            for _ in range(5):
                await yield_seconds(priority)


async def test_a_rest_lasts_a_multiple_of_the_work_while_a_call_waits():
    priority = CallPriority()
    before = time.monotonic()
    await priority.rest(0.01)
    assert time.monotonic() - before < 0.01
    with priority.call():
        before = time.monotonic()
        await priority.rest(0.01)
        assert time.monotonic() - before >= 0.9 * MAX_REST_FACTOR * 0.01


@pytest.mark.slow
async def test_with_a_long_lag_a_rest_lasts_no_longer_than_the_work():
    priority = CallPriority()
    priority.set_lag(10 * MAX_LAG_SECONDS)
    with priority.call():
        before = time.monotonic()
        await priority.rest(0.1)
        assert 0.1 <= time.monotonic() - before < 0.3
        priority.set_lag(0)
        before = time.monotonic()
        await priority.rest(0.1)
        assert time.monotonic() - before >= 0.9 * MAX_REST_FACTOR * 0.1


class ManualClock:
    """A clock that a test moves."""

    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now


def measure_load(answering, between, seconds=1.0):
    """Return the load after calls of so many seconds with so many between them."""
    clock = ManualClock()
    priority = CallPriority(clock)
    for _ in range(round(seconds / (answering + between))):
        with priority.call():
            clock.now += answering
        clock.now += between
    return priority.load


def test_a_caller_that_asks_again_at_once_is_full_load():
    assert measure_load(0.001, 0.004) > 0.99


def test_rare_calls_count_by_their_share():
    assert 0.05 < measure_load(0.002, 0.048) < 0.3
    assert measure_load(0.002, 5.0, 10.0) < 1e-6


def test_a_read_now_and_then_leaves_reasoning_half_of_the_time():
    clock = ManualClock()
    priority, loads = CallPriority(clock), []
    for _ in range(50):
        with priority.call():
            clock.now += 0.002
        for _ in range(98):
            clock.now += 0.001
            loads.append(priority.load)
    assert 1 / (1 + MAX_REST_FACTOR * sum(loads) / len(loads)) > 0.5


@pytest.mark.slow
async def test_a_rest_ends_however_long_the_work_was():
    priority = CallPriority()
    with priority.call():
        async with asyncio.timeout(2 * MAX_REST_SECONDS):
            await priority.rest(1_000.0)


def test_events_one_call_after_another_are_a_flood_until_they_end():
    clock = ManualClock()
    priority = CallPriority(clock)
    assert not priority.has_flood
    with priority.recording():
        clock.now += 1.0
        assert priority.has_flood, "a graph server takes its time"
    assert priority.has_flood
    clock.now += 1.0
    assert not priority.has_flood
