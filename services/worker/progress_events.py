"""Waiting for a number that background work moves."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress


async def woken(event: asyncio.Event, seconds: float) -> None:
    """The event, or so much time without it."""
    with suppress(TimeoutError):
        async with asyncio.timeout(
            seconds
        ):  # wait_for swallows a cancellation that comes together with the event
            await event.wait()


class Steps:
    """`moved` after each step; whoever waits looks again."""

    def __init__(self) -> None:
        self._next = asyncio.Event()

    def moved(self) -> None:
        self._next.set()
        self._next = asyncio.Event()

    async def following(self, seconds: float) -> None:
        """The next step, or so many seconds."""
        await woken(self._next, seconds)

    async def until(
        self, reached: Callable[[], Awaitable[int]], wanted: int, seconds: float
    ) -> int:
        """The number as soon as it is at least `wanted`, or as it is after `seconds`."""
        deadline = asyncio.get_running_loop().time() + seconds
        while True:
            following = self._next
            number = await reached()
            left = deadline - asyncio.get_running_loop().time()
            if number >= wanted or left <= 0:
                return number
            try:
                async with asyncio.timeout(left):
                    await following.wait()
            except TimeoutError:
                return await reached()
