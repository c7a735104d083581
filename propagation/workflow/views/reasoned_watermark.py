"""How far texts are, for answers that say what they reflect."""

import time

from propagation.ports.graph.reason import ReasonStore

FRESH_SECONDS = 0.05


class ReasonedWatermark:
    """`reasoned_through`, asked of the store at most twenty times a second: it only grows, so an
    old one is still true."""

    def __init__(self, store: ReasonStore) -> None:
        self._store = store
        self._reasoned = 0
        self._asked = -FRESH_SECONDS

    async def reasoned_through(self) -> int:
        if time.monotonic() - self._asked >= FRESH_SECONDS:
            self._asked = time.monotonic()
            self._reasoned = await self._store.reasoned_through()
        return self._reasoned
