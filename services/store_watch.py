"""Whether the graph's server answers, told to whoever shows it (the health service) whenever that changes."""

from collections.abc import Awaitable, Callable

from propagation.model.errors import StoreUnreachable

Told = Callable[[bool], Awaitable[None]]


async def told_nobody(there: bool) -> None:
    """For a worker that no health service watches."""


class StoreWatch:
    """`asks` the graph, each time it is looked at; `tell` is told."""

    def __init__(self, asks: Callable[[], Awaitable[int]], tell: Told) -> None:
        self._asks = asks
        self._tell = tell
        self._there = True

    async def step(self) -> int:
        """Nothing is left to do after it, whatever was found: it is for every second. Raises what asking raised."""
        try:
            await self._asks()
        except StoreUnreachable:
            await self._now(False)
            raise
        await self._now(True)
        return 0

    async def _now(self, there: bool) -> None:
        if there != self._there:
            await self._tell(there)
            self._there = there
