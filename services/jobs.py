"""Periodic jobs in this process. A lease in the graph lets one replica run what must run once."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

import structlog
from apscheduler.schedulers.asyncio import AsyncIOScheduler

from propagation.model.errors import PropagationError

DEFAULTS = {"coalesce": True, "max_instances": 1, "misfire_grace_time": 3_600}
log = structlog.get_logger()


@dataclass(frozen=True)
class Job:
    """`run` every `seconds`; runs that were missed become one."""

    name: str
    seconds: float
    run: Callable[[], Awaitable[object]]


class Jobs:
    """Runs jobs until stopped. What a job fails with stands in `failing` until it succeeds."""

    def __init__(self, jobs: Sequence[Job], failing: dict[str, str]) -> None:
        self._jobs = jobs
        self._failing = failing
        self._scheduler: AsyncIOScheduler | None = None

    def start(self) -> None:
        self._scheduler = AsyncIOScheduler(job_defaults=DEFAULTS, timezone="UTC")
        for job in self._jobs:
            self._scheduler.add_job(self._run, "interval", seconds=job.seconds, args=(job,), id=job.name)
        self._scheduler.start()

    def stop(self) -> None:
        if self._scheduler is not None:
            self._scheduler.shutdown(wait=False)
            self._scheduler = None

    async def _run(self, job: Job) -> None:
        try:
            await job.run()
        except PropagationError as error:
            self._failing[job.name] = str(error)
            log.warning("job failed", job=job.name, error=str(error))
        except Exception as error:
            self._failing[job.name] = f"{type(error).__name__}; see the log"
            log.error("job failed unexpectedly", job=job.name, exc_info=error)
        else:
            self._failing.pop(job.name, None)
