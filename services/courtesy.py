"""Calls before reasoning: an offline reasoner computes on the loop that also answers calls, so it takes turns."""

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager

SLICE_SECONDS = 0.001
BUSY_SECONDS = 0.002
LOOK_SECONDS = 0.001
REST_LOOK_SECONDS = 0.004
REST = 17 / 3
LONGEST_SECONDS = 0.02


class Courtesy:
    """While calls are being answered, work takes at most three twentieths of the time; when none is, all of it. So it is slowed
    by traffic and never starved."""

    def __init__(self) -> None:
        self._resumed = 0.0
        self._busy_until = 0.0
        self._calls = 0

    @contextmanager
    def call(self) -> Iterator[None]:
        """Around a call that waits for its answer."""
        self._calls += 1
        try:
            yield
        finally:
            self._calls -= 1
            self._busy_until = time.monotonic() + BUSY_SECONDS

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Inside of a call that waits for what it would otherwise slow down."""
        self._calls -= 1
        try:
            yield
        finally:
            self._calls += 1

    def ingesting(self) -> None:
        """Events were just recorded: more may follow at once."""
        self._busy_until = time.monotonic() + BUSY_SECONDS

    @property
    def busy(self) -> bool:
        """Whether calls are being answered, or were a moment ago: a caller often asks again at once."""
        return self._calls > 0 or time.monotonic() < self._busy_until

    async def rest(self, worked: float) -> None:
        """After work that another process did, and that took so many seconds: the same share, while calls are being answered. Both
        processes, and whoever calls, may have to do with two cores."""
        await self._rest(REST * worked, REST_LOOK_SECONDS)

    async def give_way(self) -> None:
        """Called before each piece of work: after a slice of it the loop turns to others, for longer while it is busy."""
        worked = time.monotonic() - self._resumed
        if worked < SLICE_SECONDS:
            return
        await asyncio.sleep(0)
        await self._rest(min(REST * worked, LONGEST_SECONDS), LOOK_SECONDS)
        self._resumed = time.monotonic()

    async def _rest(self, seconds: float, look: float) -> None:
        """While it is busy, looking every `look` seconds."""
        for _ in range(round(seconds / look)):
            if not self.busy:
                break
            await asyncio.sleep(look)
