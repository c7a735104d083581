"""Calls that are combined into batches."""

import asyncio

from propagation.call_batcher import CallBatcher
from propagation.model import StoreUnreachable


class Server:
    """Runs batches; the first one ends with `error` once the test lets it."""

    def __init__(self, error):
        self.error, self.batches, self.may_end = error, [], asyncio.Event()

    async def run(self, calls):
        self.batches.append(list(calls))
        await self.may_end.wait()
        if len(self.batches) == 1:
            raise self.error
        return calls


async def run_calls(error):
    """Four calls in batches of two, of which the first fails; a fifth comes afterwards."""
    server = Server(error)
    batcher = CallBatcher(server.run, lambda call: 1, limit=2, away=(StoreUnreachable,))
    calls = [asyncio.create_task(batcher.submit(call)) for call in range(4)]
    await asyncio.sleep(0)
    server.may_end.set()
    outcomes = await asyncio.gather(*calls, return_exceptions=True)
    assert await batcher.submit(4) == 4
    return outcomes, server.batches


async def test_calls_that_wait_for_a_silent_server_fail_with_the_first_batch():
    error = StoreUnreachable("no answer")
    outcomes, batches = await run_calls(error)
    assert outcomes == [error] * 4
    assert batches == [[0, 1], [4]]


async def test_another_error_is_that_of_its_batch_alone():
    error = ValueError("of these calls")
    outcomes, batches = await run_calls(error)
    assert outcomes == [error, error, 2, 3]
    assert batches == [[0, 1], [2, 3], [4]]
