"""A job by the calendar, run once each time it is due.

One replica runs it. A run missed during a stop is caught up once, and a failed run is retried.

Every few seconds the job is checked against the wall clock and its state in the graph; no timer is
set hours ahead. So a machine that slept, a corrected clock, or a run by another replica need no
special treatment.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime

import structlog

from propagation.model import Term, pluralize
from propagation.ports import Clock, GraphStore, Lease
from propagation.workflow.engine import Engine
from services.config.cron import Calendar
from services.config.settings import ScheduleSettings
from services.runtime.measurements import Failures
from services.runtime.tasks import UninterruptedWork

DAY_MS = 86_400_000
MAX_DOUBLINGS = 64
log = structlog.get_logger()


@dataclass(frozen=True)
class CalendarTask:
    """A task for the calendar; one row of JOBS.

    Attributes:
        name: Shown in the status, the metrics and the log.
        cron: Returns the task's cron line, or None if the task is off.
        run: Does the work. It must be harmless to repeat after a crash.
        ran_between: Returns whether the graph has a run that was committed between two times [ms].
            A process that died just after that commit could not save the job's state. None if the
            graph does not record runs; the task is then run again.
    """

    name: str
    cron: Callable[[ScheduleSettings, Engine], str | None]
    run: Callable[[Engine], Awaitable[object]]
    ran_between: Callable[[GraphStore, int, int], Awaitable[bool]] | None = None


class JobState(Term):
    """A job's state in the graph, shared by replicas and restarts.

    Attributes:
        through: All times up to this one are done (ms since 1970, as all times here).
        finished: End of the last successful run; 0 before the first.
        failures: Failed attempts at the run that is due now.
        retry_at: Time of the next attempt; 0 without a failure.
        error: The reason of the last failure; empty without one.
    """

    through: int
    finished: int = 0
    failures: int = 0
    retry_at: int = 0
    error: str = ""


class CalendarJob:
    """A task that runs at the times of a cron line.

    A failure is logged, counted in jobs_failed_total, and shown until a run succeeds. A run that is
    late by more than `schedule.misfire_grace_time` is left out.
    """

    def __init__(
        self,
        task: CalendarTask,
        cron: str,
        engine: Engine,
        schedule: ScheduleSettings,
        clock: Clock,
        uninterrupted: UninterruptedWork,
        failures: Failures,
    ) -> None:
        self.name = task.name
        self._task = task
        self._calendar = Calendar(cron, schedule.time_zone)
        self._engine = engine
        self._store, self._leases = engine.store, engine.leases
        self._schedule = schedule
        self._clock = clock
        self._uninterrupted = uninterrupted
        self._failures = failures

    async def check(self) -> None:
        """Run the job if it is due."""
        state = await self._load()
        self._show(state)
        if state is None or self._is_due(state):
            async with self._leases.hold(self._key) as lease:
                if lease is not None:
                    await self._check_alone(lease)

    async def state(self) -> JobState:
        """Read when the job last ran, failed or is to be retried.

        The state of a job that was never checked counts its times from now on.
        """
        return await self._load() or JobState(through=self._clock.now_ms())

    def next_time(self, state: JobState) -> datetime | None:
        """Return when the job is due next; a past time if overdue.

        Returns:
            None if it is not due within decades; see `Calendar.after`.
        """
        return self._calendar.after(_build_time(state.through))

    async def note_run(self) -> None:
        """Note that the task was run now, by a call.

        This does not change when the calendar runs the task.
        """
        async with self._leases.hold(self._key) as lease:
            if lease is not None:
                noted = {"finished": self._clock.now_ms()}
                await self._save((await self.state()).model_copy(update=noted), lease)

    @property
    def _key(self) -> str:
        """The name of the lease and of the blob with the state."""
        return f"job:{self.name}"

    async def _load(self) -> JobState | None:
        blob = await self._store.get_blob(self._key)
        return None if blob is None else JobState.model_validate_json(blob)

    async def _save(self, state: JobState, lease: Lease) -> None:
        """Save the state in the graph.

        Raises:
            LeaseLost: Another process has taken the job over.
        """
        await self._store.put_blob(self._key, state.model_dump_json().encode(), lease)

    async def _check_alone(self, lease: Lease) -> None:
        """Check again under the lease, and run the job if due.

        Another replica may have run the job since the first check.
        """
        now = self._clock.now_ms()
        state = await self._load()
        if state is None or state.through > now + DAY_MS:
            if state is not None:
                log.warning(
                    "the clock went back by more than a day: the job is due from now on",
                    job=self.name,
                )
            await self._save(JobState(through=now), lease)
        elif self._is_due(state):
            if self._is_too_late(state, now):
                log.warning("missed by more than misfire_grace_time: left out", job=self.name)
                self._failures.counters["jobs_missed_total", self.name] += 1
                await self._save(state.model_copy(update={"through": now}), lease)
            else:
                await self._try(lease, state, now)

    def _is_due(self, state: JobState) -> bool:
        """Tell whether the job, or its retry, is due.

        If a retry lies further ahead than the longest delay, the clock went back after the retry
        was set; the retry counts as due. A job whose `through` is more than a day ahead of the
        clock counts as due, too.
        """
        now = self._clock.now_ms()
        if state.through > now + DAY_MS:
            return True
        if state.retry_at - self._schedule.retry_longest * 1_000 <= now < state.retry_at:
            return False
        due = self.next_time(state)
        return due is not None and due <= _build_time(now)

    def _is_too_late(self, state: JobState, now: int) -> bool:
        """Tell whether even the latest missed time is older than misfire_grace_time."""
        grace = self._schedule.misfire_grace_time
        if grace is None or state.failures:
            return False
        oldest_allowed = _build_time(now - int(1_000 * grace) - 1)
        due = self._calendar.after(max(_build_time(state.through), oldest_allowed))
        return due is None or due > _build_time(now)

    async def _try(self, lease: Lease, state: JobState, now: int) -> None:
        """Run the task and save the result.

        The saved state covers times up to the start of the run, so that a time that comes while the
        task runs is due afterwards.
        """
        log.info("job begins", job=self.name)
        due, ran_between = self.next_time(state), self._task.ran_between
        try:
            if (
                due is None
                or ran_between is None
                or not await ran_between(self._store, int(due.timestamp() * 1_000), now)
            ):
                await self._uninterrupted.run(self._task.run(self._engine))
        except Exception as error:
            await self._fail(lease, state, error)
        else:
            done = JobState(through=now, finished=self._clock.now_ms())
            await self._save(done, lease)
            self._failures.counters["jobs_run_total", self.name] += 1
            self._show(done)
            log.info("job done", job=self.name)

    async def _fail(self, lease: Lease, state: JobState, error: Exception) -> None:
        now, failures = self._clock.now_ms(), state.failures + 1
        failed = JobState(
            through=state.through,
            finished=state.finished,
            failures=failures,
            error=self._failures.record("job", self.name, error, failures=failures),
            retry_at=now + compute_retry_delay_ms(self._schedule, failures),
        )
        self._show(failed)
        await self._save(failed, lease)

    def _show(self, state: JobState | None) -> None:
        """Show a failure, even by another replica or before a restart."""
        if state is None or not state.failures:
            self._failures.clear(self.name)
        else:
            self._failures.show(
                self.name,
                f"failed {pluralize(state.failures, 'time')}, next try at "
                f"{_build_time(state.retry_at):%Y-%m-%d %H:%M:%S} UTC: {state.error}",
            )


def compute_retry_delay_ms(schedule: ScheduleSettings, failures: int) -> int:
    """Return the delay after so many failures, in milliseconds.

    The delay doubles with each failure, up to `retry_longest`.
    """
    seconds = schedule.retry_first * 2.0 ** min(failures - 1, MAX_DOUBLINGS)
    return int(1_000 * min(seconds, schedule.retry_longest))


def _build_time(ms: int) -> datetime:
    return datetime.fromtimestamp(ms / 1_000, UTC)


async def _has_evolved_between(store: GraphStore, since_ms: int, until_ms: int) -> bool:
    return any(since_ms <= run.time <= until_ms for run in await store.get_evolution_runs(1))


JOBS = (
    CalendarTask(
        "evolution",
        cron=lambda schedule, engine: schedule.evolution if engine.propagates else None,
        run=lambda engine: engine.evolve(),
        ran_between=_has_evolved_between,
    ),
    CalendarTask(
        "factors",
        cron=lambda schedule, engine: schedule.factors,
        run=lambda engine: engine.relearn_factors_if_due(),
    ),
    CalendarTask(
        "wiping",
        cron=lambda schedule, engine: schedule.wiping,
        run=lambda engine: engine.wipe_if_due(),
    ),
)


def create_calendar_jobs(
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
