"""Which jobs run by the calendar."""

from collections.abc import Mapping, MutableMapping

from propagation.ports.clock import Clock
from propagation.ports.graph.graph_store import GraphStore
from propagation.workflow.concurrency.leases import Leases
from services.config.cron import Calendar
from services.config.settings import ScheduleSettings
from services.runtime.counters import Counters
from services.schedule.calendar_job import Nightly, Ran, Retry, Run

Runs = Mapping[str, tuple[Run, Ran]]


def by_calendar(
    schedule: ScheduleSettings,
    runs: Runs,
    store: GraphStore,
    leases: Leases,
    clock: Clock,
    failing: MutableMapping[str, str],
    counters: Counters,
) -> tuple[Nightly, ...]:
    """Those of `runs` (by name) that the schedule has a cron line for."""
    lines = {"evolution": schedule.evolution}
    retry = Retry(schedule.retry_first, schedule.retry_longest)
    return tuple(
        Nightly(
            name,
            Calendar(line, schedule.time_zone),
            *run,
            store,
            clock,
            leases,
            failing,
            counters,
            retry,
            schedule.misfire_grace_time,
        )
        for name, run in runs.items()
        if (line := lines[name]) is not None
    )
