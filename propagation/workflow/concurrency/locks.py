"""Locks of one process: readers and a writer, and commits of clients' texts."""

import asyncio
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager


class ReadersWriterLock:
    """Readers-writer lock for asyncio; a waiting writer keeps later readers waiting."""

    def __init__(self) -> None:
        self._writer = asyncio.Lock()
        self._readers = 0
        self._no_readers = asyncio.Event()
        self._no_readers.set()

    @asynccontextmanager
    async def read(self) -> AsyncIterator[None]:
        """Hold the lock together with other readers."""
        async with self._writer:
            self._readers += 1
            self._no_readers.clear()
        try:
            yield
        finally:
            self._readers -= 1
            if not self._readers:
                self._no_readers.set()

    @asynccontextmanager
    async def write(self) -> AsyncIterator[None]:
        """Hold the lock alone, once the readers inside have left."""
        async with self._writer:
            await self._no_readers.wait()
            yield


class CommitLock:
    """Lock for commits of clients' texts: one commit at a time, and clients can be reserved.

    It covers this process; against other processes the versions in the graph do.
    """

    def __init__(self) -> None:
        self._lock = asyncio.Lock()
        self._reserved: set[int] = set()
        self._released = asyncio.Event()

    @asynccontextmanager
    async def hold(
        self, refs: Collection[int], reserved: Collection[int] = frozenset()
    ) -> AsyncIterator[None]:
        """Hold the lock to commit these clients' texts.

        Args:
            refs: The clients; waits until none of them is reserved by another caller.
            reserved: The caller's own reservation.
        """
        while True:
            await self._lock.acquire()
            if not self._reserved.intersection(refs).difference(reserved):
                break
            self._released.clear()
            self._lock.release()
            await self._released.wait()
        try:
            yield
        finally:
            self._lock.release()

    @asynccontextmanager
    async def reserve(self, refs: Collection[int]) -> AsyncIterator[None]:
        """Keep other callers from committing texts of these clients."""
        async with self.hold(refs):
            self._reserved.update(refs)
        try:
            yield
        finally:
            self._reserved.difference_update(refs)
            self._released.set()
