"""Background work that follows a commit."""

import asyncio
import logging
from collections.abc import Awaitable, Callable

from propagation.model import PropagationError

log = logging.getLogger(__name__)


class BackgroundWork:
    """Runs one piece of work after another.

    Work must be repeatable: if a piece fails or is cut short, the next one of its kind does it.
    """

    def __init__(self) -> None:
        self._last: asyncio.Task[None] | None = None

    def start(self, purpose: str, work: Callable[[], Awaitable[None]]) -> None:
        """Run a piece of work after those that were started before.

        Args:
            purpose: Names the work in the log if it fails.
        """
        self._last = asyncio.create_task(_run_after(self._last, purpose, work))

    async def finish(self) -> None:
        """Wait until all work has ended."""
        if self._last is not None:
            await asyncio.wait([self._last])


async def _run_after(
    previous: asyncio.Task[None] | None, purpose: str, work: Callable[[], Awaitable[None]]
) -> None:
    if previous is not None:
        await asyncio.wait([previous])
    try:
        await work()
    except PropagationError as error:
        log.warning("%s failed and will be repeated: %s", purpose, error)
