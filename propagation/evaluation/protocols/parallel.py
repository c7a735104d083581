"""Evaluation passes in parallel, one on each core.

Their kernels release the interpreter lock, and the result of a pass depends only on its seed.
"""

import asyncio
import threading
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from functools import partial

from propagation.evaluation.protocols.one_pass import Ranked
from propagation.workflow.concurrency import usable_cores

OnEvents = Callable[[int], None]
Pass = Callable[[OnEvents], Ranked]


class _PassCancelled(Exception):
    """The evaluation was cancelled."""


async def run_in_parallel(
    passes: AsyncGenerator[Pass, None],
    count: int,
    events: int,
    progress: Callable[[int, int], None],
    at_once: int | None = None,
) -> list[Ranked]:
    """Run passes and return their results in order.

    Cancelling it cancels the passes.

    Args:
        count: How many passes there are.
        events: Events of each pass.
        progress: Called with (events done, events in all), from other threads.
        at_once: Passes at a time; None is one for each core.
    """
    room = asyncio.Semaphore(at_once or usable_cores())
    stopping = threading.Event()
    done = [0] * count

    def report(number: int, passed: int) -> None:
        if stopping.is_set():
            raise _PassCancelled
        done[number] = passed
        progress(sum(done), count * events)

    async def run(work: Pass, number: int) -> Ranked:
        try:
            return await asyncio.to_thread(work, partial(report, number))
        finally:
            room.release()

    running: list[asyncio.Task[Ranked]] = []
    try:
        await room.acquire()
        async with aclosing(passes):
            async for work in passes:
                running.append(asyncio.create_task(run(work, len(running))))
                await room.acquire()
                if any(task.done() and task.exception() for task in running):
                    break
        # Unlike gather, this cancels no pass: a thread runs on.
        await asyncio.wait(running, return_when=asyncio.FIRST_EXCEPTION)
        return [task.result() for task in running if task.done()]
    finally:
        stopping.set()
        await asyncio.gather(*running, return_exceptions=True)
