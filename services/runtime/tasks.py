"""Helpers for asyncio: waits, and work that runs to its end."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, TypeVar

T = TypeVar("T")


async def wait_for_event(event: asyncio.Event, seconds: float) -> None:
    """Wait for the event, at most so many seconds."""
    # asyncio.wait_for would swallow a cancellation that comes together with the event
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await event.wait()


class Progress:
    """A signal that background work has advanced."""

    def __init__(self) -> None:
        self._next = asyncio.Event()

    def advance(self) -> None:
        """Wake everything that waits."""
        self._next.set()
        self._next = asyncio.Event()

    async def wait(self, seconds: float) -> None:
        """Wait for the next advance, at most so many seconds."""
        await wait_for_event(self._next, seconds)

    async def wait_until(
        self, read: Callable[[], Awaitable[int]], target: int, seconds: float
    ) -> int:
        """Read a number after each advance until it reaches the target.

        After `seconds` it stops in any case.

        Returns:
            The last number read, below the target if the time was over.
        """
        loop = asyncio.get_running_loop()
        deadline = loop.time() + seconds
        while True:
            following = self._next  # taken first: an advance during `read` counts
            number = await read()
            remaining = deadline - loop.time()
            if number >= target or remaining <= 0:
                return number
            await wait_for_event(following, remaining)


class Outage:
    """Tells calls that wait for a server when it does not answer.

    Attributes:
        began: Set while the server does not answer.
        reason: Why it does not answer; empty while it answers.
    """

    def __init__(self) -> None:
        self.began = asyncio.Event()
        self.reason = ""

    def note(self, reason: str) -> None:
        """Note why the server does not answer; empty: it answers."""
        self.reason = reason
        if reason:
            self.began.set()
        else:
            self.began.clear()


class UninterruptedWork:
    """Work that runs to its end, even if its caller is cancelled."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Future[Any]] = set()

    @property
    def running(self) -> bool:
        """Whether any work is under way."""
        return bool(self._tasks)

    async def run(self, work: Awaitable[T]) -> T:
        """Start the work and wait for its result."""
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return await asyncio.shield(task)

    async def finish(self) -> None:
        """Wait until all work has ended, whether it succeeds or fails."""
        await asyncio.gather(*self._tasks, return_exceptions=True)
