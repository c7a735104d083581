"""Background tasks that end with the work that they accompany."""

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import TypeVar

RETRY_SECONDS = 0.1
T = TypeVar("T")
log = logging.getLogger(__name__)


async def yield_to_loop() -> None:
    """Let other tasks of this loop run.

    An offline reasoner never waits by itself.
    """
    await asyncio.sleep(0)


@asynccontextmanager
async def background_task(work: Coroutine[None, None, T]) -> AsyncIterator["asyncio.Task[T]"]:
    """Run `work` as a task while the body runs, then cancel it."""
    task = asyncio.create_task(work)
    try:
        yield task
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def keep_renewing(name: str, renew: Callable[[], Awaitable[bool]], every: float) -> None:
    """Call `renew` every so many seconds, until it returns False.

    The interval counts from the start of a call, so a slow one is followed by the next at once.
    A call that fails is repeated after RETRY_SECONDS: whether the renewal came too late shows in
    the commit that relies on it.

    Args:
        name: What is renewed, for the log.
    """
    pause, failing = every, False
    while True:
        await asyncio.sleep(pause)
        start = time.monotonic()
        try:
            if not await renew():
                return
            pause, failing = max(0.0, start + every - time.monotonic()), False
        except Exception as error:
            if not failing:
                log.warning("%s is not renewed, it is tried again: %s", name, error)
            pause, failing = RETRY_SECONDS, True
