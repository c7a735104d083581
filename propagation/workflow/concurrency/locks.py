"""Many may pass at once, or one alone."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class Gate:
    """Inside of one process and loop. Whoever wants to be alone waits for those inside, and keeps
    later ones waiting."""

    def __init__(self) -> None:
        self._alone = asyncio.Lock()
        self._inside = 0
        self._empty = asyncio.Event()
        self._empty.set()

    @asynccontextmanager
    async def shared(self) -> AsyncIterator[None]:
        async with self._alone:
            self._inside += 1
            self._empty.clear()
        try:
            yield
        finally:
            self._inside -= 1
            if not self._inside:
                self._empty.set()

    @asynccontextmanager
    async def alone(self) -> AsyncIterator[None]:
        async with self._alone:
            await self._empty.wait()
            yield
