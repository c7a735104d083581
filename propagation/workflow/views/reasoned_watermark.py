"""The watermark of reasoned texts: every interaction up to it is reasoned."""

import asyncio
import time

from propagation.ports import GraphStore

FRESH_SECONDS = 0.05
"""How old an answer's watermark may be; an older one still holds."""


class ReasonedWatermark:
    """Caches the watermark for calls that come at almost the same time."""

    def __init__(self, store: GraphStore) -> None:
        self._store = store
        self._reading: asyncio.Task[int] | None = None
        self._read_at = 0.0

    async def read(self, *, exact: bool = False) -> int:
        """Return the sequence up to which texts are reasoned.

        Args:
            exact: Whether to ask the store. Otherwise the last read counts if it still goes on or
                began less than 0.05 s ago.
        """
        if exact:
            return await self._store.get_reasoned_through()
        now = time.monotonic()
        if self._reading is None or (self._reading.done() and now - self._read_at >= FRESH_SECONDS):
            self._read_at = now
            self._reading = asyncio.create_task(self._store.get_reasoned_through())
        return await asyncio.shield(self._reading)
