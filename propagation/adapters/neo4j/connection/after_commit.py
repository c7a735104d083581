"""What a commit leaves to be done, while its caller goes on: one piece after another, in the order
in which they came."""

import asyncio
import logging
from collections.abc import Awaitable, Callable

from propagation.model.errors import PropagationError

Work = Callable[[], Awaitable[None]]
log = logging.getLogger(__name__)


class Beside:
    """Each piece can be repeated, and whoever comes next does what failed or was cut short."""

    def __init__(self) -> None:
        self._last: asyncio.Task[None] | None = None

    def begin(self, what: str, work: Work) -> None:
        self._last = asyncio.create_task(_after(self._last, what, work))

    async def done(self) -> None:
        """Once all that was begun has ended."""
        if self._last is not None:
            await asyncio.wait([self._last])


async def _after(before: asyncio.Task[None] | None, what: str, work: Work) -> None:
    if before is not None:
        await asyncio.wait([before])
    try:
        await work()
    except PropagationError as error:
        log.warning("%s did not come to its end, it is done again: %s", what, error)
