"""Functions that wait for other tasks and other processes."""

import asyncio
import inspect
import time
from collections.abc import Callable
from typing import Any


async def wait_until(find: Callable[[], Any], seconds: float = 30, *, pause: float = 0.02) -> Any:
    """Poll until `find` returns something true; return it.

    Args:
        find: May be asynchronous.
    """
    async with asyncio.timeout(seconds):
        while True:
            found = find()
            if inspect.isawaitable(found):
                found = await found
            if found:
                return found
            await asyncio.sleep(pause)


def block_until(find: Callable[[], Any], seconds: float = 30) -> Any:
    """Do the same as `wait_until`, without an event loop."""
    deadline = time.monotonic() + seconds
    while not (found := find()):
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.02)
    return found
