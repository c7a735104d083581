"""The background loops: learn as soon as something is recorded, reason behind it, rounds when they are due."""

import asyncio
import time
from collections.abc import Awaitable, Callable

import structlog

from propagation.model.errors import LeaseLost, PropagationError
from propagation.model.round import Round
from propagation.ports.graph import VersionClash
from propagation.workflow.engine import Engine

IDLE_SECONDS = 0.25
RETRY_SECONDS = 1.0
log = structlog.get_logger()


class Worker:
    """Runs until stopped; an error is logged and tried again, never the end of a loop."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._recorded = asyncio.Event()
        self._learned = asyncio.Event()
        self._stopping = False
        self._last_round = time.monotonic()
        self._tasks: list[asyncio.Task[None]] = []

    def start(self) -> None:
        self._tasks = [asyncio.create_task(self._loop("learn", self._engine.learn, self._recorded, self._learned.set)),
                       asyncio.create_task(self._loop("reason", self._reason, self._learned, lambda: None))]

    async def stop(self) -> None:
        self._stopping = True
        self._recorded.set()
        self._learned.set()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def recorded(self) -> None:
        """Something was committed: learn it."""
        self._recorded.set()

    async def run_round(self) -> Round | None:
        self._last_round = time.monotonic()
        return await self._engine.run_round()

    async def _reason(self) -> int:
        done = await self._engine.reason()
        if self._engine.settings.propagate and (self._interval_passed() or (done and await self._engine.round_is_due())):
            await self.run_round()
        return done

    def _interval_passed(self) -> bool:
        return time.monotonic() - self._last_round > self._engine.settings.round_interval

    async def _loop(self, name: str, step: Callable[[], Awaitable[int]], wake: asyncio.Event, after: Callable[[], None]) -> None:
        while not self._stopping:
            try:
                wake.clear()
                if await step():
                    after()
                    continue
                await asyncio.wait_for(wake.wait(), IDLE_SECONDS)
            except TimeoutError:
                continue
            except (PropagationError, VersionClash, LeaseLost) as error:
                log.warning("step failed", loop=name, error=str(error))
                await asyncio.sleep(RETRY_SECONDS)
            except Exception:
                log.exception("step failed unexpectedly", loop=name)
                await asyncio.sleep(RETRY_SECONDS)
