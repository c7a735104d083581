"""Parallel passes: results in order, common progress, and cancellation."""

import asyncio

import pytest

from propagation.evaluation.protocols.parallel import run_in_parallel

EVENTS = 3


async def of(*passes):
    for one in passes:
        yield one


def measuring(name, before=None):
    def measure(heard):
        for done in range(1, EVENTS + 1):
            if before is not None:
                before(done)
            heard(done)
        return name

    return measure


def endlessly(done):
    def measure(heard):
        while True:
            heard(len(done))
            done.append(1)

    return measure


async def stands_still(done):
    many = len(done)
    await asyncio.sleep(0.05)
    return len(done) == many


async def test_what_passes_measured_comes_back_in_their_order_and_all_are_heard_of():
    heard = []
    names = [f"pass {number}" for number in range(5)]
    found = await run_in_parallel(
        of(*map(measuring, names)),
        len(names),
        EVENTS,
        lambda done, total: heard.append((done, total)),
    )
    assert found == names
    assert {total for _, total in heard} == {EVENTS * len(names)}
    assert max(done for done, _ in heard) == EVENTS * len(names)


async def test_a_pass_that_fails_takes_the_others_along():
    def failing(heard):
        raise ValueError("nothing to rank")

    done = []
    with pytest.raises(ValueError, match="nothing to rank"):
        await run_in_parallel(
            of(failing, endlessly(done), endlessly(done)),
            3,
            EVENTS,
            lambda done, total: None,
            at_once=2,
        )
    assert await stands_still(done)


async def test_who_is_cancelled_takes_the_passes_along():
    done = []
    running = asyncio.create_task(
        run_in_parallel(of(endlessly(done)), 1, EVENTS, lambda done, total: None)
    )
    while not done:  # noqa: ASYNC110 - another thread begins
        await asyncio.sleep(0.001)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert await stands_still(done)
