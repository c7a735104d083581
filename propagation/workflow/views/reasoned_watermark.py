"""The watermark of reasoned texts, for answers that say what they reflect."""

import time

from propagation.ports import ReasonStore

FRESH_SECONDS = 0.05


class ReasonedWatermark:
    """Reads `reasoned_through` from the store at most twenty times a second.

    The watermark only grows, so an older value is still true.
    """

    def __init__(self, store: ReasonStore) -> None:
        self._store = store
        self._reasoned_through = 0
        self._read_at = -FRESH_SECONDS

    async def reasoned_through(self) -> int:
        """Return the sequence up to which texts are reasoned."""
        if time.monotonic() - self._read_at >= FRESH_SECONDS:
            self._read_at = time.monotonic()
            self._reasoned_through = await self._store.reasoned_through()
        return self._reasoned_through
