"""Readiness: until the engine is open, calls are refused with the reason."""

import asyncio
from collections.abc import Awaitable, Callable

import structlog

from propagation.model import ReasonerUnavailable, StoreUnreachable
from services.runtime.errors import Starting
from services.runtime.kernel_cache import StartCancelled
from services.runtime.tasks import wait_for_event

FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 0.5, 5.0
STARTING = "the service is starting"
log = structlog.get_logger()


class Readiness:
    """Whether the service is ready and, if it is not, the reason.

    Args:
        stopping: Set when the service is asked to stop.
    """

    def __init__(self, stopping: asyncio.Event | None = None) -> None:
        self._stopping = stopping or asyncio.Event()
        self._reason: str | None = STARTING

    def require(self) -> None:
        """Raise Starting unless the service is ready."""
        if self._reason is not None:
            raise Starting(self._reason)

    def declare(self) -> None:
        """Declare the service ready, so that calls are let in."""
        self._reason = None

    async def reach(self, open_part: Callable[[], Awaitable[None]]) -> None:
        """Open a part; try again while its server does not answer.

        Args:
            open_part: Opens the graph store or the embedder. All other errors are passed on: a
                wrong password or version does not become right by waiting.

        Raises:
            StartCancelled: The service was asked to stop meanwhile.
        """
        pause = FIRST_PAUSE_SECONDS
        while not self._stopping.is_set():
            try:
                await open_part()
            except (StoreUnreachable, ReasonerUnavailable) as error:
                server = "graph's server" if isinstance(error, StoreUnreachable) else "embedder"
                self._reason = f"the service waits for its {server}: {error}"
                log.warning(f"waiting for the {server}", error=str(error), again_in_seconds=pause)
            else:
                self._reason = STARTING
                return
            await wait_for_event(self._stopping, pause)
            pause = min(2 * pause, LONGEST_PAUSE_SECONDS)
        raise StartCancelled
