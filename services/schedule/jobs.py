"""The jobs that run by the calendar: one row of JOBS is one job."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from propagation.ports.clock import Clock
from propagation.workflow.engine import Engine
from services.config.cron import Calendar
from services.config.settings import ScheduleSettings
from services.runtime.measurements import Failures
from services.runtime.tasks import UninterruptedWork
from services.schedule.calendar_job import CalendarJob, Retry, Task


async def _evolved_between(engine: Engine, since_ms: int, until_ms: int) -> bool:
    return any(since_ms <= run.time <= until_ms for run in await engine.evolution_runs(1))


@dataclass(frozen=True)
class JobRow:
    """A job by the calendar.

    Attributes:
        cron: Its cron line by the settings, or None if it is off.
        run: Its work, harmless to repeat after a crash.
        ran_between: Whether the graph shows a run that was committed between two times [ms].
    """

    name: str
    cron: Callable[[ScheduleSettings, Engine], str | None]
    run: Callable[[Engine], Awaitable[object]]
    ran_between: Callable[[Engine, int, int], Awaitable[bool]]


JOBS = (
    JobRow(
        "evolution",
        cron=lambda schedule, engine: schedule.evolution if engine.settings.propagate else None,
        run=lambda engine: engine.evolve(),
        ran_between=_evolved_between,
    ),
)


def calendar_jobs(
    schedule: ScheduleSettings,
    engine: Engine,
    clock: Clock,
    uninterrupted: UninterruptedWork,
    failures: Failures,
) -> tuple[CalendarJob, ...]:
    """Make a job of each row that has a cron line."""
    retry = Retry(schedule.retry_first, schedule.retry_longest)
    return tuple(
        CalendarJob(
            row.name,
            Calendar(line, schedule.time_zone),
            _task(row, engine, uninterrupted),
            engine.store,
            clock,
            engine.leases,
            failures,
            retry,
            schedule.misfire_grace_time,
        )
        for row in JOBS
        if (line := row.cron(schedule, engine)) is not None
    )


def _task(row: JobRow, engine: Engine, uninterrupted: UninterruptedWork) -> Task:
    return Task(
        run=lambda: uninterrupted.run(row.run(engine)),
        ran_between=lambda since, until: row.ran_between(engine, since, until),
    )
