"""Passes side by side, one a core: their kernels hold no interpreter lock, and what each measures
depends on its seed alone."""

import asyncio
import threading
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing

from propagation.evaluation.protocols.one_pass import Ranked
from propagation.workflow.concurrency.core_pool import cores

Heard = Callable[[int], None]
Pass = Callable[[Heard], Ranked]


class _Stopped(Exception):
    """Nobody waits for the pass any more."""


async def side_by_side(
    passes: AsyncGenerator[Pass, None],
    count: int,
    events: int,
    progress: Callable[[int, int], None],
    at_once: int | None = None,
) -> list[Ranked]:
    """What each of `count` passes over so many events measured, in their order; `at_once` of them
    at a time (None: one a core). `progress` hears (events done, events in all) from other threads.
    Who is cancelled takes the passes along."""
    room, stopping, done = asyncio.Semaphore(at_once or cores()), threading.Event(), [0] * count

    def count_outcomes(number: int) -> Heard:
        def heard(passed: int) -> None:
            if stopping.is_set():
                raise _Stopped
            done[number] = passed
            progress(sum(done), count * events)

        return heard

    async def run(work: Pass, heard: Heard) -> Ranked:
        try:
            return await asyncio.to_thread(work, heard)
        finally:
            room.release()

    running: list[asyncio.Task[Ranked]] = []
    try:
        await room.acquire()
        async with aclosing(passes):
            async for work in passes:
                running.append(asyncio.create_task(run(work, count_outcomes(len(running)))))
                await room.acquire()
                if any(task.done() and task.exception() for task in running):
                    break
        await asyncio.wait(
            running, return_when=asyncio.FIRST_EXCEPTION
        )  # unlike gather, cancels no pass: a thread runs on
        return [task.result() for task in running if task.done()]
    finally:
        stopping.set()
        await asyncio.gather(*running, return_exceptions=True)
