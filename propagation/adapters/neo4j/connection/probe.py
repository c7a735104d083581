"""Notices a server that has stopped answering, while calls wait for it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from neo4j import AsyncDriver
from neo4j.exceptions import DriverError, Neo4jError

LEAST_SECONDS = 2.0
WAITING_SHARE, ANSWER_SHARE = 0.1, 0.4
"""Of `retry_seconds`: how long a call waits before the server is probed, and how long the probe
may take."""
PATIENCE = 4


class ServerProbe:
    """Probes the server while calls wait, and ends them if it does not answer.

    A long query of a live server goes on.
    """

    def __init__(self, driver: AsyncDriver, retry_seconds: float) -> None:
        """Prepare the probe.

        Args:
            driver: One of its own, as the waiting calls may have all connections of theirs.
            retry_seconds: Waiting calls end within this time, or LEAST_SECONDS.
        """
        self._driver = driver
        self._seconds = max(retry_seconds, LEAST_SECONDS)
        self._waiting: set[asyncio.Timeout] = set()
        self._probing: asyncio.Task[None] | None = None

    @asynccontextmanager
    async def limit(self, answer_seconds: float) -> AsyncIterator[None]:
        """Limit the time of a call.

        Raises:
            TimeoutError: It took longer than `answer_seconds`, or the server does not answer the
                probe; the message names the limit.
        """
        deadline = asyncio.timeout(answer_seconds)
        try:
            async with deadline:
                self._waiting.add(deadline)
                if self._probing is None or self._probing.done():
                    self._probing = asyncio.create_task(self._probe_while_waiting())
                yield
        except TimeoutError as error:
            limit = "answer_seconds" if deadline in self._waiting else "retry_seconds"
            raise TimeoutError(f"no answer within neo4j.{limit}") from error
        finally:
            self._waiting.discard(deadline)

    async def close(self) -> None:
        """Stop probing, and disconnect."""
        if self._probing is not None:
            self._probing.cancel()
        await self._driver.close()

    async def _probe_while_waiting(self) -> None:
        """Probe while the same calls wait; a quick call costs no probe."""
        while waiting := set(self._waiting):
            await asyncio.sleep(WAITING_SHARE * self._seconds)
            if waiting & self._waiting and not await self._is_answered():
                # Calls that began during the probe were not answered either.
                for deadline in list(self._waiting):
                    if not deadline.expired():
                        self._waiting.discard(deadline)
                        deadline.reschedule(0)

    async def _is_answered(self) -> bool:
        """Tell whether the server answers; an error is an answer, too.

        A long stall of this process must not count as the server's, so the time is waited for in
        parts: an answer that came meanwhile is taken in before the last part.
        """
        asking = asyncio.create_task(self._ask())
        try:
            for _ in range(PATIENCE):
                await asyncio.wait([asking], timeout=ANSWER_SHARE * self._seconds / PATIENCE)
                if asking.done():
                    return True
            return False
        finally:
            asking.cancel()

    async def _ask(self) -> None:
        """Exchange one message with the server."""
        with suppress(Neo4jError, DriverError, OSError):
            await self._driver.get_server_info()
