"""Loops of the worker: steps that run while there is work, and jobs that run at an interval."""

import asyncio
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from propagation.model import EndpointUnavailable, StoreUnreachable
from propagation.workflow.engine import Engine
from services.runtime.measurements import Failures, Timings
from services.runtime.tasks import Progress, UninterruptedWork, wait_for_event
from services.worker.call_priority import CallPriority

IDLE_SECONDS = 1.0
FIRST_RETRY_SECONDS = 0.5
LONGEST_RETRY_SECONDS = 30.0
LONGEST_RETRY_SECONDS_IF_UNREACHABLE = 2.0


@dataclass(frozen=True)
class WorkerContext:
    """What the steps of a worker share.

    Attributes:
        stopping: Set when the worker stops.
        wakes: By the name of a step: set when the step may have work.
    """

    engine: Engine
    priority: CallPriority
    progress: Progress = field(default_factory=Progress)
    uninterrupted: UninterruptedWork = field(default_factory=UninterruptedWork)
    timings: Timings = field(default_factory=Timings)
    failures: Failures = field(default_factory=Failures)
    stopping: asyncio.Event = field(default_factory=asyncio.Event)
    wakes: defaultdict[str, asyncio.Event] = field(
        default_factory=lambda: defaultdict(asyncio.Event)
    )


async def repeat_step(
    name: str, step: Callable[[WorkerContext], Awaitable[int]], context: WorkerContext
) -> None:
    """Repeat a step until the worker stops.

    The step returns how much it did. After 0 the loop waits to be woken, but no longer than a
    second, as another process may have committed something. An error never ends the loop: the step
    is retried, later each time. A server that is away is tried again within two seconds, as such an
    attempt costs little.
    """
    wake, failures = context.wakes[name], context.failures
    pause = FIRST_RETRY_SECONDS
    while not context.stopping.is_set():
        wake.clear()
        start = time.monotonic()
        try:
            done = await step(context)
        except Exception as error:
            away = isinstance(error, (EndpointUnavailable, StoreUnreachable))
            longest = LONGEST_RETRY_SECONDS_IF_UNREACHABLE if away else LONGEST_RETRY_SECONDS
            pause = min(pause, longest)
            next_time = datetime.now(UTC) + timedelta(seconds=pause)
            failures.record("step", name, error, f"; tried again at {next_time:%X} UTC")
            await wait_for_event(context.stopping, pause)
            pause *= 2
            continue
        pause = FIRST_RETRY_SECONDS
        failures.clear(name)
        if done:
            context.timings.add(name, time.monotonic() - start)
        else:
            await wait_for_event(wake, IDLE_SECONDS)


async def repeat_job(
    name: str,
    seconds: float,
    work: Callable[[], Awaitable[object]],
    failures: Failures,
    *,
    at_once: bool = False,
) -> None:
    """Run a job every `seconds` until cancelled, also after a failed run.

    If a run takes longer, the next one follows at once.
    """
    loop = asyncio.get_running_loop()
    due = loop.time() + (0 if at_once else seconds)
    while True:
        await asyncio.sleep(due - loop.time())
        due = max(due + seconds, loop.time())
        try:
            await work()
        except Exception as error:
            failures.record("job", name, error)
        else:
            failures.clear(name)
