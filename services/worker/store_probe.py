"""Whether the graph's server answers, told to whoever shows it (the health service) whenever that
changes."""

import time
from collections.abc import Awaitable, Callable

from propagation.model.errors import StoreUnreachable

Told = Callable[[bool], Awaitable[None]]
LONG_SECONDS = 2.0
"""An answer that took longer may be one of a server that was started meanwhile."""


async def told_nobody(there: bool) -> None:
    """For a worker that no health service watches."""


class StoreWatch:
    """`asks` the graph, each time it is looked at; `tell` is told, and again of each answer that
    took long."""

    def __init__(self, asks: Callable[[], Awaitable[int]], tell: Told) -> None:
        self._asks = asks
        self._tell = tell
        self._there = True

    async def step(self) -> int:
        """Nothing is left to do after it, whatever was found: it is for every second. Raises what
        asking raised."""
        began = time.monotonic()
        try:
            await self._asks()
        except StoreUnreachable:
            await self._now(False)
            raise
        await self._now(True, again=time.monotonic() - began > LONG_SECONDS)
        return 0

    async def _now(self, there: bool, *, again: bool = False) -> None:
        if there != self._there or again:
            await self._tell(there)
            self._there = there
