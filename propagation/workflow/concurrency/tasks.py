"""Tasks of the event loop."""

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from typing import TypeVar

T = TypeVar("T")


async def yield_to_loop() -> None:
    """Let other tasks run: an offline reasoner never waits by itself."""
    await asyncio.sleep(0)


@asynccontextmanager
async def background_task(work: Coroutine[None, None, T]) -> AsyncIterator["asyncio.Task[T]"]:
    """Run `work` while the body runs; cancel it at the end of the body."""
    task = asyncio.create_task(work)
    try:
        yield task
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
