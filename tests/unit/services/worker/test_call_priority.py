"""Reasoning takes turns with calls: a share of the loop while they wait, all of it otherwise, and
is never starved."""

import asyncio
import time

from services.worker.call_priority import (
    MAX_LAG_SECONDS,
    MAX_REST_FACTOR,
    MAX_REST_SECONDS,
    MAX_YIELD_SECONDS,
    SLICE_SECONDS,
    CallPriority,
)


def work():
    """Holds the loop for twice the slice, as reasoning does."""
    time.sleep(2 * SLICE_SECONDS)


async def rested(priority):
    """Seconds that yield_to_calls took after a piece of work."""
    await priority.yield_to_calls()
    work()
    before = time.monotonic()
    await priority.yield_to_calls()
    return time.monotonic() - before


async def test_alone_it_hardly_rests():
    assert min([await rested(CallPriority()) for _ in range(5)]) < MAX_REST_FACTOR * SLICE_SECONDS


async def test_while_a_call_waits_it_rests_longer_than_it_works():
    priority = CallPriority()
    with priority.call():
        assert await rested(priority) >= 2 * SLICE_SECONDS


async def test_a_call_that_waits_for_reasoning_does_not_slow_it():
    priority = CallPriority()
    with priority.call(), priority.waiting():
        assert not priority.busy


async def test_a_call_without_end_does_not_starve_it():
    priority = CallPriority()
    with priority.call():
        async with asyncio.timeout(100 * MAX_YIELD_SECONDS):
            for _ in range(5):
                await rested(priority)


async def test_after_work_beside_it_rests_as_much_longer_and_alone_not_at_all():
    priority = CallPriority()
    before = time.monotonic()
    await priority.rest(0.01)
    assert time.monotonic() - before < 0.01
    with priority.call():
        before = time.monotonic()
        await priority.rest(0.01)
        assert time.monotonic() - before >= 0.9 * MAX_REST_FACTOR * 0.01


async def test_what_is_far_behind_rests_as_long_as_it_works_and_no_longer():
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


class Hand:
    """A clock that is moved by hand."""

    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now


def loaded(answering, between, seconds=1.0):
    """The load after calls of so many seconds, one after another with so much between them."""
    hand = Hand()
    priority = CallPriority(hand)
    for _ in range(round(seconds / (answering + between))):
        with priority.call():
            hand.now += answering
        hand.now += between
    return priority.load


def test_a_caller_that_asks_again_at_once_loads_it_wholly():
    assert loaded(0.001, 0.004) > 0.99


def test_rare_calls_load_it_by_their_share_and_no_calls_not_at_all():
    assert 0.05 < loaded(0.002, 0.048) < 0.3
    assert loaded(0.002, 5.0, 10.0) < 1e-6


def test_a_read_now_and_then_leaves_reasoning_half_of_the_time():
    hand = Hand()
    priority, loads = CallPriority(hand), []
    for _ in range(50):
        with priority.call():
            hand.now += 0.002
        for _ in range(98):
            hand.now += 0.001
            loads.append(priority.load)
    assert 1 / (1 + MAX_REST_FACTOR * sum(loads) / len(loads)) > 0.5


async def test_a_rest_ends_however_long_the_work_was():
    priority = CallPriority()
    with priority.call():
        async with asyncio.timeout(2 * MAX_REST_SECONDS):
            await priority.rest(1_000.0)


def test_events_one_call_after_another_are_a_flood_and_over_when_they_end():
    hand = Hand()
    priority = CallPriority(hand)
    assert not priority.flooded
    with priority.recording():
        hand.now += 1.0
        assert priority.flooded, "a graph server takes its time"
    assert priority.flooded
    hand.now += 1.0
    assert not priority.flooded
