"""The watermark of reasoned texts: every interaction up to it is reasoned."""

import asyncio
import time

from propagation.ports import GraphStore

FRESH_SECONDS = 0.05
"""How old the watermark may be in an answer; an older one is still true."""


class ReasonedWatermark:
    """Caches the watermark for answers that come at the same time."""

    def __init__(self, store: GraphStore) -> None:
        self._store = store
        self._reading: asyncio.Task[int] | None = None
        self._read_at = 0.0

    async def read(self, *, exact: bool = False) -> int:
        """Return the sequence up to which texts are reasoned.

        Args:
            exact: Ask the store; otherwise the last read counts, which began 0.05 s ago at most or
                still goes on.
        """
        if exact:
            return await self._store.get_reasoned_through()
        now = time.monotonic()
        if self._reading is None or (self._reading.done() and now - self._read_at >= FRESH_SECONDS):
            self._read_at = now
            self._reading = asyncio.create_task(self._store.get_reasoned_through())
        return await asyncio.shield(self._reading)
