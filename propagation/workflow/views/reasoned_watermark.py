"""The watermark of reasoned texts: every interaction up to it is reasoned."""

import time

from propagation.ports import GraphStore

FRESH_SECONDS = 0.05
"""How old the watermark may be in an answer; an older one is still true."""


class ReasonedWatermark:
    """Caches the watermark for answers that come at the same time."""

    def __init__(self, store: GraphStore) -> None:
        self._store = store
        self._through = 0
        self._read_at = -FRESH_SECONDS

    async def read(self, *, exact: bool = False) -> int:
        """Return the sequence up to which texts are reasoned.

        Args:
            exact: Ask the store; otherwise it may be 0.05 s old.
        """
        if exact:
            return await self._store.get_reasoned_through()
        if time.monotonic() - self._read_at >= FRESH_SECONDS:
            # Noted before the read, so that the others do not ask as well meanwhile.
            self._read_at = time.monotonic()
            self._through = await self._store.get_reasoned_through()
        return self._through
