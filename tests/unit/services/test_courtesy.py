"""Reasoning takes turns with calls: a share of the loop while they wait, all of it otherwise, and is never starved."""

import asyncio
import time

from services.courtesy import LONGEST_SECONDS, REST, SLICE_SECONDS, Courtesy


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
