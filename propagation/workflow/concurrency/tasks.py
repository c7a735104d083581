"""Work that goes on beside other work, and ends with it."""

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from typing import TypeVar

T = TypeVar("T")


@asynccontextmanager
async def beside(work: Coroutine[None, None, T]) -> AsyncIterator["asyncio.Task[T]"]:
    """Begun, while the body goes on; ended with it."""
    task = asyncio.create_task(work)
    try:
        yield task
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
