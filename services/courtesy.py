"""Ingest before reasoning: an offline reasoner computes on the loop that also answers calls, so it takes turns."""

import asyncio
import time

SLICE_SECONDS = 0.001
BUSY_SECONDS = 0.002
LONGEST_SECONDS = 0.004


class Courtesy:
    """After a slice of work the loop may answer calls; while events come in, it may for some slices more. Bounded, so
    that reasoning is slowed by ingest and never starved."""

    def __init__(self) -> None:
        self._resumed = 0.0
        self._busy_until = 0.0

    def ingesting(self) -> None:
        """Events were just recorded: more may follow at once."""
        self._busy_until = time.monotonic() + BUSY_SECONDS

    async def give_way(self) -> None:
        """Called before each piece of work."""
        now = time.monotonic()
        if now - self._resumed < SLICE_SECONDS:
            return
        await asyncio.sleep(0)
        busy = min(self._busy_until - time.monotonic(), LONGEST_SECONDS)
        if busy > 0:
            await asyncio.sleep(busy)
        self._resumed = time.monotonic()
