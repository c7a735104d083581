"""Background tasks that end with the work they accompany."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import TypeVar

RETRY_SECONDS = 0.1
T = TypeVar("T")


async def yield_to_loop() -> None:
    """Let other tasks of this loop run; an offline reasoner never waits by itself."""
    await asyncio.sleep(0)


@asynccontextmanager
async def background_task(work: Coroutine[None, None, T]) -> AsyncIterator["asyncio.Task[T]"]:
    """Run `work` as a task while the body runs, and cancel it when the body ends."""
    task = asyncio.create_task(work)
    try:
        yield task
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def keep_renewing(renew: Callable[[], Awaitable[bool]], every: float) -> None:
    """Call `renew` every so many seconds, until it returns False.

    The interval counts from the start of a call, so a slow one is followed by the next at once.
    A call that fails is repeated after RETRY_SECONDS: whether the renewal came too late shows in
    the commit that relies on it.
    """
    pause = every
    while True:
        await asyncio.sleep(pause)
        start = time.monotonic()
        try:
            if not await renew():
                return
            pause = max(0.0, start + every - time.monotonic())
        except Exception:
            pause = RETRY_SECONDS
