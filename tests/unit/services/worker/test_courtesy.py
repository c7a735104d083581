"""Reasoning takes turns with calls: a share of the loop while they wait, all of it otherwise, and
is never starved."""

import asyncio
import time

from services.worker.call_priority import (
    LONGEST_SECONDS,
    PATIENCE_SECONDS,
    REST,
    REST_LONGEST_SECONDS,
    SLICE_SECONDS,
    Courtesy,
)


def work():
    """Holds the loop for twice the slice, as reasoning does."""
    time.sleep(2 * SLICE_SECONDS)


async def rested(courtesy):
    """Seconds that give_way took after a piece of work."""
    await courtesy.give_way()
    work()
    before = time.monotonic()
    await courtesy.give_way()
    return time.monotonic() - before


async def test_alone_it_hardly_rests():
    assert min([await rested(Courtesy()) for _ in range(5)]) < REST * SLICE_SECONDS


async def test_while_a_call_waits_it_rests_longer_than_it_works():
    courtesy = Courtesy()
    with courtesy.call():
        assert await rested(courtesy) >= 2 * SLICE_SECONDS


async def test_a_call_that_waits_for_reasoning_does_not_slow_it():
    courtesy = Courtesy()
    with courtesy.call(), courtesy.waiting():
        assert not courtesy.busy


async def test_a_call_without_end_does_not_starve_it():
    courtesy = Courtesy()
    with courtesy.call():
        async with asyncio.timeout(100 * LONGEST_SECONDS):
            for _ in range(5):
                await rested(courtesy)


async def test_after_work_beside_it_rests_as_much_longer_and_alone_not_at_all():
    courtesy = Courtesy()
    before = time.monotonic()
    await courtesy.rest(0.01)
    assert time.monotonic() - before < 0.01
    with courtesy.call():
        before = time.monotonic()
        await courtesy.rest(0.01)
        assert time.monotonic() - before >= 0.9 * REST * 0.01


async def test_what_is_far_behind_rests_as_long_as_it_works_and_no_longer():
    courtesy = Courtesy()
    courtesy.behind(10 * PATIENCE_SECONDS)
    with courtesy.call():
        before = time.monotonic()
        await courtesy.rest(0.1)
        assert 0.1 <= time.monotonic() - before < 0.3
        courtesy.behind(0)
        before = time.monotonic()
        await courtesy.rest(0.1)
        assert time.monotonic() - before >= 0.9 * REST * 0.1


class Hand:
    """A clock that is moved by hand."""

    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now


def loaded(answering, between, seconds=1.0):
    """The load after calls of so many seconds, one after another with so much between them."""
    hand = Hand()
    courtesy = Courtesy(hand)
    for _ in range(round(seconds / (answering + between))):
        with courtesy.call():
            hand.now += answering
        hand.now += between
    return courtesy.load


def test_a_caller_that_asks_again_at_once_loads_it_wholly():
    assert loaded(0.001, 0.004) > 0.99


def test_rare_calls_load_it_by_their_share_and_no_calls_not_at_all():
    assert 0.05 < loaded(0.002, 0.048) < 0.3
    assert loaded(0.002, 5.0, 10.0) < 1e-6


def test_a_read_now_and_then_leaves_reasoning_half_of_the_time():
    hand = Hand()
    courtesy, loads = Courtesy(hand), []
    for _ in range(50):
        with courtesy.call():
            hand.now += 0.002
        for _ in range(98):
            hand.now += 0.001
            loads.append(courtesy.load)
    assert 1 / (1 + REST * sum(loads) / len(loads)) > 0.5


async def test_a_rest_ends_however_long_the_work_was():
    courtesy = Courtesy()
    with courtesy.call():
        async with asyncio.timeout(2 * REST_LONGEST_SECONDS):
            await courtesy.rest(1_000.0)


def test_events_one_call_after_another_are_a_flood_and_over_when_they_end():
    hand = Hand()
    courtesy = Courtesy(hand)
    assert not courtesy.flooded
    with courtesy.recording():
        hand.now += 1.0
        assert courtesy.flooded, "a graph server takes its time"
    assert courtesy.flooded
    hand.now += 1.0
    assert not courtesy.flooded
