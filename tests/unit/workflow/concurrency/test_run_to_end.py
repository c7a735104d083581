"""Work that must not be left half done ends before a cancellation goes on."""

import asyncio

import pytest

from propagation.workflow.concurrency import run_to_end
from tests.waiting import wait_until


async def test_the_result_is_that_of_the_work():
    async def add():
        return 1 + 1

    assert await run_to_end(add()) == 2


@pytest.mark.parametrize("failing", [False, True])
async def test_a_cancellation_waits_for_the_end(failing, caplog):
    began, go_on, ended = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def work():
        began.set()
        await go_on.wait()
        ended.set()
        if failing:
            raise ValueError("planted")

    waiting = asyncio.create_task(run_to_end(work()))
    await began.wait()
    waiting.cancel()
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert not waiting.done()
    go_on.set()
    await wait_until(waiting.done)
    assert waiting.cancelled()
    assert ended.is_set()
    assert ("planted" in caplog.text) == failing
