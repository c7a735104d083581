"""From the first moment until the engine is open: the port answers, health says NOT_SERVING, and
every other call is told why."""

import asyncio
from collections.abc import Awaitable, Callable

import structlog

from propagation.model.errors import ReasonerUnavailable, StoreUnreachable
from services.runtime.errors import Starting

FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 0.5, 5.0
STARTING = "the service is starting; try again in a moment"
log = structlog.get_logger()


class StartCancelled(Exception):
    """The service was told to stop before it was open."""


class Readiness:
    """`stopping`: set when the service is told to stop (None: never)."""

    def __init__(self, stopping: asyncio.Event | None = None) -> None:
        self._stopping = stopping or asyncio.Event()
        self._why: str | None = STARTING

    def require(self) -> None:
        """Raises Starting until the engine is open."""
        if self._why is not None:
            raise Starting(self._why)

    def declare(self) -> None:
        self._why = None

    async def reach(self, open_part: Callable[[], Awaitable[None]]) -> None:
        """Open the graph store, or what is embedded at start; wait for the server where that does
        not answer, for as long as it takes. Raises StartCancelled, and what else it is refused with: a
        wrong password or version does not get right by waiting."""
        pause = FIRST_PAUSE_SECONDS
        while True:
            try:
                await open_part()
            except (StoreUnreachable, ReasonerUnavailable) as error:
                server = "graph's server" if isinstance(error, StoreUnreachable) else "embedder"
                self._why = f"the service waits for its {server}: {error}"
                log.warning(f"waiting for the {server}", error=str(error), again_in_seconds=pause)
            else:
                self._why = STARTING
                return
            try:
                async with asyncio.timeout(pause):
                    await self._stopping.wait()
            except TimeoutError:
                pause = min(2 * pause, LONGEST_PAUSE_SECONDS)
            else:
                raise StartCancelled
