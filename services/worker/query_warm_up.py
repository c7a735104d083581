"""What the first readers would wait for, done beside everything else."""

import asyncio
from collections.abc import Awaitable, Callable

import structlog

from propagation.model.errors import PropagationError

log = structlog.get_logger()


class Preparing:
    """Of one store; see GraphStore.prepare."""

    def __init__(self, prepare: Callable[[], Awaitable[None]]) -> None:
        self._prepare = prepare
        self._task: asyncio.Task[None] | None = None
        self._stopped = False

    def begin(self) -> None:
        """From the start, also where it is under way: its server may be a new one. Nothing once it
        was stopped."""
        if not self._stopped:
            before, self._task = self._task, asyncio.create_task(self._after(self._task))
            if before is not None:
                before.cancel()

    async def stop(self) -> None:
        """Cuts it short, for good."""
        self._stopped = True
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _after(self, before: asyncio.Task[None] | None) -> None:
        if before is not None:
            await asyncio.gather(before, return_exceptions=True)
        try:
            await self._prepare()
        except PropagationError as error:
            log.info("first reads will take longer", reason=str(error))
        except Exception:
            log.exception("first reads will take longer")
