"""The jobs that run by the calendar: one row of JOBS is one job."""

from propagation.ports import Clock
from propagation.workflow.engine import Engine
from services.config.settings import ScheduleSettings
from services.runtime.measurements import Failures
from services.runtime.tasks import UninterruptedWork
from services.schedule.calendar_job import CalendarJob, CalendarTask


async def _evolved_between(engine: Engine, since_ms: int, until_ms: int) -> bool:
    return any(since_ms <= run.time <= until_ms for run in await engine.evolution_runs(1))


async def _never_between(engine: Engine, since_ms: int, until_ms: int) -> bool:
    return False


JOBS = (
    CalendarTask(
        "evolution",
        cron=lambda schedule, engine: schedule.evolution if engine.settings.propagate else None,
        run=lambda engine: engine.evolve(),
        ran_between=_evolved_between,
    ),
    CalendarTask(
        "wiping",
        cron=lambda schedule, engine: schedule.wiping,
        run=lambda engine: engine.forgetting.wipe_if_due(),
        ran_between=_never_between,
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
    return tuple(
        CalendarJob(task, cron, engine, schedule, clock, uninterrupted, failures)
        for task in JOBS
        if (cron := task.cron(schedule, engine)) is not None
    )
