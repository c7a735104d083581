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

    async def begin(self) -> None:
        """From the start, also where it is under way: its server may be a new one."""
        await self.stop()
        self._task = asyncio.create_task(self._run())

    async def stop(self) -> None:
        """Cuts it short."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
            self._task = None

    async def _run(self) -> None:
        try:
            await self._prepare()
        except PropagationError as error:
            log.info("first reads will take longer", reason=str(error))
