"""Who may commit texts now: one at a time, and of clients that somebody has reserved, only that
one."""

import asyncio
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager

NOBODY: frozenset[int] = frozenset()


class Turns:
    """In this process; the graph's versions see to the others."""

    def __init__(self) -> None:
        self._lock = asyncio.Lock()
        self._reserved: set[int] = set()
        self._freed = asyncio.Event()

    @asynccontextmanager
    async def turn(
        self, refs: Collection[int], mine: Collection[int] = NOBODY
    ) -> AsyncIterator[None]:
        """The turn to commit texts of these clients, once nobody has reserved any that is not
        `mine`."""
        while True:
            await self._lock.acquire()
            if not (self._reserved.intersection(refs).difference(mine)):
                break
            self._freed.clear()
            self._lock.release()
            await self._freed.wait()
        try:
            yield
        finally:
            self._lock.release()

    @asynccontextmanager
    async def reserving(self, refs: Collection[int]) -> AsyncIterator[None]:
        """Nobody else commits texts of these clients meanwhile."""
        async with self.turn(refs):
            self._reserved.update(refs)
        try:
            yield
        finally:
            self._reserved.difference_update(refs)
            self._freed.set()
