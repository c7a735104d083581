"""A job by the calendar, once each time it is due: in one replica, caught up once after a stop,
tried again after a failure.

It is looked at every few seconds against the clock on the wall and the graph's memory, and not by a
timer set hours ahead: a machine that slept, a clock that was put right, and a run by another
replica are then nothing special."""

from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass
from datetime import UTC, datetime

import structlog

from propagation.model.errors import PropagationError
from propagation.ports.clock import Clock
from propagation.ports.graph.graph_store import GraphStore
from propagation.ports.graph.leases import Lease
from propagation.workflow.concurrency.leases import Leases
from services.config.cron import Calendar
from services.runtime.counters import Counters
from services.schedule.job_state import JobMemory, remember, remembered

Run = Callable[[], Awaitable[object]]
Ran = Callable[[int, int], Awaitable[bool]]
DAY_MS = 86_400_000
MOST_DOUBLINGS = 64
log = structlog.get_logger()


@dataclass(frozen=True)
class Retry:
    """After the first failure of a run it is tried again in `first` seconds, then twice as late
    each time, at most `longest`."""

    first: float = 60.0
    longest: float = 3_600.0

    def after_ms(self, failures: int) -> int:
        return int(1_000 * min(self.first * 2.0 ** min(failures - 1, MOST_DOUBLINGS), self.longest))


class Nightly:
    """`run` is called when `calendar` says so; it must be harmless to repeat after a crash. What it
    fails with is a log line, counted in jobs_failed_total, and stands in `failing` until it
    succeeds. `ran` says whether the graph shows a run from one time to another [ms]: a process that
    died just after its run's commit did not come to remember it. `grace` [seconds]: a run that is
    later than this is left out; None: however late, it is caught up."""

    def __init__(
        self,
        name: str,
        calendar: Calendar,
        run: Run,
        ran: Ran,
        store: GraphStore,
        clock: Clock,
        leases: Leases,
        failing: MutableMapping[str, str],
        counters: Counters,
        retry: Retry,
        grace: float | None = None,
    ) -> None:
        self.name = name
        self._calendar = calendar
        self._run = run
        self._ran = ran
        self._store = store
        self._clock = clock
        self._leases = leases
        self._failing = failing
        self._counters = counters
        self._retry = retry
        self._grace = grace

    async def look(self) -> bool:
        """Run it if it is due; whether it was run and succeeded."""
        memory = await remembered(self._store, self.name)
        self._show(memory)
        if memory is not None and not self._is_due(memory):
            return False
        async with self._leases.holding(f"job:{self.name}") as lease:
            return lease is not None and await self._look_again(lease)

    async def when(self) -> tuple[JobMemory | None, datetime | None]:
        """(what is remembered of it, when it is due next; a past time where it is overdue)."""
        memory = await remembered(self._store, self.name)
        return memory, self._calendar.after(
            _time(self._clock.now_ms() if memory is None else memory.through)
        )

    async def _look_again(self, lease: Lease) -> bool:
        """Under the lease: another replica may have run it, or begun to remember, since the first
        look."""
        now = self._clock.now_ms()
        memory = await remembered(self._store, self.name)
        if memory is None or memory.through > now + DAY_MS:
            if memory is not None:
                log.warning(
                    "the clock went back by more than a day: the job is due from now on",
                    job=self.name,
                )
            await remember(self._store, self.name, JobMemory(through=now), lease)
            return False
        if not self._is_due(memory):
            return False
        if self._too_late(memory, now):
            log.warning("missed by more than misfire_grace_time: left out", job=self.name)
            self._counters.add("jobs_missed_total", self.name)
            await remember(
                self._store, self.name, memory.model_copy(update={"through": now}), lease
            )
            return False
        return await self._try(lease, memory, now)

    def _is_due(self, memory: JobMemory) -> bool:
        """A retry that seems further off than the longest was set before the clock went back, and
        is due."""
        now = self._clock.now_ms()
        if memory.through > now + DAY_MS:
            return True
        if memory.retry_at - self._retry.longest * 1_000 <= now < memory.retry_at:
            return False
        due = self._calendar.after(_time(memory.through))
        return due is not None and due <= _time(now)

    def _too_late(self, memory: JobMemory, now: int) -> bool:
        """Whether even the latest time that it was due at is longer ago than the grace."""
        if self._grace is None or memory.failures:
            return False
        due = self._calendar.after(
            max(_time(memory.through), _time(now - int(1_000 * self._grace) - 1))
        )
        return due is None or due > _time(now)

    async def _try(self, lease: Lease, memory: JobMemory, now: int) -> bool:
        """What came due while it runs is due afterwards: `through` is when it began."""
        log.info("job begins", job=self.name)
        due = self._calendar.after(_time(memory.through))
        try:
            if due is None or not await self._ran(int(due.timestamp() * 1_000), now):
                await self._run()
        except Exception as error:
            await self._failed(lease, memory, error)
            return False
        done = JobMemory(through=now, finished=self._clock.now_ms())
        await remember(self._store, self.name, done, lease)
        self._counters.add("jobs_run_total", self.name)
        self._show(done)
        log.info("job done", job=self.name)
        return True

    async def _failed(self, lease: Lease, memory: JobMemory, error: Exception) -> None:
        ours = isinstance(error, PropagationError)
        said = str(error) if ours else f"{type(error).__name__}; see the log"
        failures, now = memory.failures + 1, self._clock.now_ms()
        failed = memory.model_copy(
            update={
                "failures": failures,
                "failed": now,
                "error": said,
                "retry_at": now + self._retry.after_ms(failures),
            }
        )
        self._counters.add("jobs_failed_total", self.name)
        self._show(failed)
        if ours:
            log.warning("job failed", job=self.name, failures=failures, error=said)
        else:
            log.error("job failed unexpectedly", job=self.name, failures=failures, exc_info=error)
        await remember(self._store, self.name, failed, lease)

    def _show(self, memory: JobMemory | None) -> None:
        """A failure of another replica, or of before a restart, shows here too."""
        if memory is None or not memory.failures:
            self._failing.pop(self.name, None)
        else:
            self._failing[self.name] = (
                f"failed {memory.failures} time{'s' * (memory.failures > 1)}, tried again at "
                f"{_time(memory.retry_at):%Y-%m-%d %H:%M:%S} UTC: {memory.error}"
            )


def _time(ms: int) -> datetime:
    return datetime.fromtimestamp(ms / 1_000, UTC)
