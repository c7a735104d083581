"""Loops of the worker: steps that run while there is work, and jobs that run at an interval."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from propagation.model.errors import EndpointUnavailable, StoreUnreachable
from services.runtime.measurements import Failures, Timings
from services.runtime.tasks import wait_for_event

IDLE_SECONDS = 1.0
FIRST_RETRY_SECONDS = 0.5
LONGEST_RETRY_SECONDS = 30.0
LONGEST_RETRY_SECONDS_IF_UNREACHABLE = 2.0


@dataclass
class StepLoop:
    """A step that is repeated until `stopping` is set.

    The step returns how much it did. After 0 the loop waits for `wake`, but no longer than a
    second, as another process may have committed something. An error never ends the loop: the step
    is retried, later each time. A server that is away is tried again within two seconds, as such an
    attempt costs little.
    """

    name: str
    step: Callable[[], Awaitable[int]]
    wake: asyncio.Event = field(default_factory=asyncio.Event)

    async def run(self, stopping: asyncio.Event, failures: Failures, timings: Timings) -> None:
        """Repeat the step."""
        pause = FIRST_RETRY_SECONDS
        while not stopping.is_set():
            self.wake.clear()
            start = time.monotonic()
            try:
                done = await self.step()
            except Exception as error:
                away = isinstance(error, (EndpointUnavailable, StoreUnreachable))
                longest = LONGEST_RETRY_SECONDS_IF_UNREACHABLE if away else LONGEST_RETRY_SECONDS
                pause = min(pause, longest)
                next_time = datetime.now(UTC) + timedelta(seconds=pause)
                failures.record("step", self.name, error, f"; tried again at {next_time:%X} UTC")
                await wait_for_event(stopping, pause)
                pause *= 2
                continue
            pause = FIRST_RETRY_SECONDS
            failures.clear(self.name)
            if done:
                timings.add(self.name, time.monotonic() - start)
            else:
                await wait_for_event(self.wake, IDLE_SECONDS)


@dataclass(frozen=True)
class IntervalJob:
    """A job that runs every `seconds`; if a run takes longer, the next one follows at once."""

    name: str
    seconds: float
    work: Callable[[], Awaitable[object]]
    at_once: bool = False

    async def run(self, failures: Failures) -> None:
        """Repeat the job until cancelled; a failed run is followed by the next one."""
        loop = asyncio.get_running_loop()
        due = loop.time() + (0 if self.at_once else self.seconds)
        while True:
            await asyncio.sleep(due - loop.time())
            due = max(due + self.seconds, loop.time())
            try:
                await self.work()
            except Exception as error:
                failures.record("job", self.name, error)
            else:
                failures.clear(self.name)
