"""Periodic jobs in this process, by APScheduler. What must run once among replicas asks the graph
(schedule/nightly.py)."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import structlog
from apscheduler.schedulers.asyncio import AsyncIOScheduler

from propagation.model.errors import PropagationError
from services.runtime.measurements import Counters

CLOCK_LOOK_SECONDS, JUMP_SECONDS = 1.0, 1.0
DEFAULTS = {"coalesce": True, "max_instances": 1, "misfire_grace_time": None}
log = structlog.get_logger()


@dataclass(frozen=True)
class Job:
    """`run` every `seconds`, for the first time at once where told; runs that were missed become
    one."""

    name: str
    seconds: float
    run: Callable[[], Awaitable[object]]
    at_once: bool = False


class Jobs:
    """Runs jobs until stopped. What a job fails with stands in `failing` until it succeeds."""

    def __init__(self, jobs: Sequence[Job], failing: dict[str, str], counters: Counters) -> None:
        self._jobs = jobs
        self._failing = failing
        self._counters = counters
        self._scheduler: AsyncIOScheduler | None = None
        self._running: set[asyncio.Task[None]] = set()
        self._clock_watch: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._scheduler = AsyncIOScheduler(job_defaults=DEFAULTS, timezone="UTC")
        for job in self._jobs:
            first = {"next_run_time": datetime.now(UTC)} if job.at_once else {}
            self._scheduler.add_job(
                self._run, "interval", seconds=job.seconds, args=(job,), id=job.name, **first
            )
        self._scheduler.start()
        self._clock_watch = asyncio.create_task(self._watch_clock(self._scheduler))

    async def stop(self) -> None:
        """A job in the middle is cancelled, and has ended when this returns; one by the calendar is
        due again at the next start."""
        if self._scheduler is not None:
            self._scheduler.shutdown(wait=False)
            self._scheduler = None
        running = [*self._running, *([self._clock_watch] if self._clock_watch else [])]
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)

    async def _watch_clock(self, scheduler: AsyncIOScheduler) -> None:
        """The scheduler goes by the clock on the wall. Where that is set back, it would sleep until
        the time it was set from is reached again; every job then waits its interval from now on."""
        ahead = time.time() - time.monotonic()
        while True:
            await asyncio.sleep(CLOCK_LOOK_SECONDS)
            before, ahead = ahead, time.time() - time.monotonic()
            if before - ahead > JUMP_SECONDS:
                log.warning(
                    "the clock was set back: periodic jobs wait their interval from now on",
                    seconds=round(before - ahead),
                )
                for job in self._jobs:
                    scheduler.reschedule_job(job.name, trigger="interval", seconds=job.seconds)

    async def _run(self, job: Job) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._running.add(task)
        try:
            await job.run()
        except asyncio.CancelledError:
            log.info("job stopped", job=job.name)
        except PropagationError as error:
            self._failed(job, str(error))
            log.warning("job failed", job=job.name, error=str(error))
        except Exception as error:
            self._failed(job, f"{type(error).__name__}; see the log")
            log.error("job failed unexpectedly", job=job.name, exc_info=error)
        else:
            self._failing.pop(job.name, None)
        finally:
            self._running.discard(task)

    def _failed(self, job: Job, reason: str) -> None:
        self._counters.add("jobs_failed_total", job.name)
        self._failing[job.name] = reason
