"""Notices a server that has stopped answering, while calls wait for it."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress

from neo4j import AsyncDriver
from neo4j.exceptions import DriverError, Neo4jError

LEAST_SECONDS = 2.0
ATTEMPTS = 3
WAITING_SHARE, ATTEMPT_SHARE = 0.1, 0.2
"""Time until a call causes a probe, and time for each attempt.

Both are shares of `retry_seconds`, or of LEAST_SECONDS if that is longer.
"""


class ServerProbe:
    """Probes the server, and ends waiting calls if it does not answer.

    A long query goes on as long as the server answers probes.
    """

    def __init__(
        self, new_driver: Callable[[int, float], AsyncDriver], retry_seconds: float
    ) -> None:
        """Prepare the probe.

        Args:
            new_driver: Creates a driver from its number of connections and the seconds that getting
                one may take. The probe needs its own driver, because waiting calls may use all
                connections of theirs.
            retry_seconds: If the server is silent, waiting calls end within this time, or within
                LEAST_SECONDS if that is longer.
        """
        self._seconds = max(retry_seconds, LEAST_SECONDS)
        self._driver = new_driver(1, ATTEMPT_SHARE * self._seconds)
        self._waiting: set[asyncio.Timeout] = set()
        self._probing: asyncio.Task[None] | None = None

    @asynccontextmanager
    async def limit(self, answer_seconds: float) -> AsyncIterator[None]:
        """Limit the time of a call.

        Raises:
            TimeoutError: The call took longer than `answer_seconds`, or the server does not answer
                the probe; the message names the setting of the limit.
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
            await asyncio.wait([self._probing])
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
        """Tell whether the server answers one of the attempts.

        A long stall of this process spoils only one attempt, so that it does not count as the
        server's. A server that refuses connections is asked again, as it may be starting.
        """
        loop = asyncio.get_running_loop()
        for _ in range(ATTEMPTS):
            end = loop.time() + ATTEMPT_SHARE * self._seconds
            if await self._ask():
                return True
            await asyncio.sleep(end - loop.time())
        return False

    async def _ask(self) -> bool:
        """Exchange one message with the server.

        The driver limits the time, not a cancellation: a connection that is cancelled while it
        opens would leave its socket open.

        Returns:
            Whether the server answered; an error that it sends is an answer, too.
        """
        try:
            with suppress(Neo4jError):
                await self._driver.get_server_info()
        except (DriverError, OSError):
            return False
        return True
