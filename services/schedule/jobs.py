"""The jobs that run by the calendar: one row of JOBS is one job."""

from collections.abc import Mapping, MutableMapping

from propagation.ports.clock import Clock
from propagation.workflow.engine import Engine
from services.config.cron import Calendar
from services.config.settings import ScheduleSettings
from services.runtime.measurements import Counters
from services.schedule.calendar_job import CalendarJob, Retry, Task


def calendar_jobs(
    schedule: ScheduleSettings,
    tasks: Mapping[str, Task],
    engine: Engine,
    clock: Clock,
    failing: MutableMapping[str, str],
    counters: Counters,
) -> tuple[CalendarJob, ...]:
    """Make a job of each task that has a cron line in the settings.

    Args:
        tasks: By the name of the job, which is also the name of its cron line in `schedule`.
    """
    retry = Retry(schedule.retry_first, schedule.retry_longest)
    return tuple(
        CalendarJob(
            name,
            Calendar(line, schedule.time_zone),
            task,
            engine.store,
            clock,
            engine.leases,
            failing,
            counters,
            retry,
            schedule.misfire_grace_time,
        )
        for name, task in tasks.items()
        if (line := getattr(schedule, name)) is not None
    )
