"""Background work of the service: learning, reasoning, rounds, upkeep and jobs."""

import asyncio
import time
from collections.abc import Awaitable, Iterator
from contextlib import contextmanager, suppress
from typing import Protocol, TypeVar

from propagation.model.errors import IndexUnavailable, NotFound, NotReached, StoreUnreachable
from propagation.model.routers.evolution import EvolutionRun
from propagation.model.routers.round import Round
from propagation.ports.clock import Clock
from propagation.workflow.engine import Engine
from services.config.settings import ScheduleSettings
from services.runtime.measurements import Counters, Failures, Timings
from services.runtime.tasks import Progress, UninterruptedWork
from services.schedule.jobs import calendar_jobs
from services.worker.call_priority import CallPriority
from services.worker.loops import IntervalJob, StepLoop
from services.worker.reason_step import ReasonStep
from services.worker.round_step import INTERVAL_JOB, RoundStep

MAX_PENDING_MERGES = 10_000
# When more log entries than this were learned at once while events arrive one call after another,
# acks go first.
FLOOD, FLOOD_REST = 1_000, 3.0
CHECK_SECONDS = 15.0
STOP_SECONDS = 10.0
T = TypeVar("T")


class HealthReport(Protocol):
    """Where the worker reports whether the graph's server answers."""

    async def report_store(self, reachable: bool) -> None:
        """Take in a change."""


class Worker:
    """Runs the engine's background work until stopped, and lets calls wait for it.

    Steps run in loops of their own, jobs at an interval or by the calendar. A failure is logged,
    counted, shown in `failing` and retried; it never ends a loop.
    """

    def __init__(
        self, engine: Engine, priority: CallPriority, schedule: ScheduleSettings, clock: Clock
    ) -> None:
        self._engine = engine
        self._priority = priority
        self._progress = Progress()
        self._uninterrupted = UninterruptedWork()
        self._stopping = asyncio.Event()
        self._pending_merges: dict[int, None] = {}
        self._health: HealthReport | None = None
        self._store_reachable = True
        self.timings = Timings()
        self.counters = Counters()
        self._failures = Failures(self.counters)
        self._rounds = RoundStep(engine, priority, self._progress, self._failures, self.timings)
        self._round_loop = StepLoop("round", self._rounds.run_if_due)
        self.reason = ReasonStep(
            engine,
            priority,
            self._progress,
            self._stopping,
            self._uninterrupted,
            self._round_loop.wake,
        )
        self._learn_loop = StepLoop("learn", self._learn)
        self._reason_loop = StepLoop("reason", self.reason.run)
        self._merge_loop = StepLoop("merge", self._merge_next)
        self._loops = (
            self._learn_loop,
            self._reason_loop,
            self._round_loop,
            self._merge_loop,
            StepLoop("retention", self._retain),
            StepLoop("index", self._carry_index),
            StepLoop("follow", self._follow),
        )
        self.calendar_jobs = calendar_jobs(
            schedule, engine, clock, self._uninterrupted, self._failures
        )
        self._interval_jobs = (
            IntervalJob(INTERVAL_JOB, engine.settings.round_interval, self._rounds.run_unless_held),
            *(
                IntervalJob(f"look at {job.name}", CHECK_SECONDS, job.check, at_once=True)
                for job in self.calendar_jobs
            ),
        )
        self._loop_tasks: list[asyncio.Task[None]] = []
        self._job_tasks: list[asyncio.Task[None]] = []

    @property
    def failing(self) -> dict[str, str]:
        """Return the steps and jobs that fail now, with their reasons."""
        return self._failures.reasons

    @property
    def merges_waiting(self) -> int:
        """Count the clients that were read with pending messages and are not merged yet."""
        return len(self._pending_merges)

    def start(self, health: HealthReport | None = None) -> None:
        """Start all loops and jobs.

        Args:
            health: Told when the graph's server stops or starts answering.
        """
        self._health = health
        self.counters.begin("round_routers_skipped_total", "")
        self.counters.begin("steps_failed_total", *(loop.name for loop in self._loops))
        for name in ("jobs_run_total", "jobs_failed_total", "jobs_missed_total"):
            self.counters.begin(name, *(job.name for job in self.calendar_jobs))
        self._loop_tasks = [
            asyncio.create_task(
                loop.run(self._stopping, self._failures, self.timings), name=loop.name
            )
            for loop in self._loops
        ]
        self._job_tasks = [
            asyncio.create_task(job.run(self._failures), name=job.name)
            for job in self._interval_jobs
        ]

    async def stop(self) -> None:
        """Stop: loops end after their step, jobs at once, uninterrupted work when it is done.

        A calendar job that is cut short is due again at the next start.
        """
        self._stopping.set()
        self._engine.stop_within(STOP_SECONDS)
        for task in self._job_tasks:
            task.cancel()
        await asyncio.gather(*self._job_tasks, return_exceptions=True)
        await self._uninterrupted.finish()
        for loop in self._loops:
            loop.wake.set()
        await asyncio.gather(*self._loop_tasks)
        await self._uninterrupted.finish()

    @contextmanager
    def recording(self) -> Iterator[None]:
        """Wrap a commit of something to be learned."""
        with self._priority.recording():
            yield
        self._learn_loop.wake.set()

    def merge_behind(self, ref: int) -> None:
        """Merge a client's pending messages in the background, as it was just read."""
        if len(self._pending_merges) < MAX_PENDING_MERGES:
            self._pending_merges[ref] = None
            self._merge_loop.wake.set()

    async def run_round_for_caller(self, *, drain: bool) -> Round | None:
        """Run a round within a call, whether due or not.

        Args:
            drain: First learn and reason everything that waits.
        """
        with self._priority.waiting():
            if drain:
                await self._engine.drain()
            return await self._rounds.run()

    async def evolve_for_caller(self, *, dry_run: bool, undo: int | None) -> EvolutionRun:
        """Evolve the routers within a call; see Engine.evolve."""
        return await self.still(self._engine.evolve(dry_run=dry_run, undo=undo))

    async def still(self, work: Awaitable[T]) -> T:
        """Run, within a call, work that stops the other steps and leaves an entry in the log.

        It is not stopped half-way when the caller goes away.
        """
        with self._priority.waiting():
            result = await self._uninterrupted.run(work)
        self._progress.advance()
        self._learn_loop.wake.set()
        return result

    async def wait_for(self, sequence: int, seconds: float, *, texts: bool) -> None:
        """Wait, within a call, until the numbers reflect `sequence`, and the texts if asked.

        Raises:
            NotReached: It was not reached in so many seconds.
        """
        with self._priority.waiting():
            if not texts:
                return await self._engine.reach_numbers(sequence, seconds)
            reached = await self._progress.wait_until(self._reasoned_through, sequence, seconds)
        if reached < sequence:
            raise NotReached(sequence, reached)

    async def progressed(self, seconds: float) -> None:
        """Wait until something was learned, reasoned or published here, at most so many seconds.

        Another process may have done it without a signal here.
        """
        await self._progress.wait(seconds)

    async def _reasoned_through(self) -> int:
        return min(self._engine.applied_through, await self._engine.reasoned_through(exact=True))

    async def _learn(self) -> int:
        start = time.monotonic()
        done = await self._engine.learn()
        if done:
            self._progress.advance()
            self._reason_loop.wake.set()
        if done >= FLOOD and self._priority.flooded:
            await self._priority.rest(time.monotonic() - start, FLOOD_REST)
        return done

    async def _retain(self) -> bool:
        if self._stopping.is_set() or self._uninterrupted.running:
            return False
        start = time.monotonic()
        done = await self._engine.retain()
        await self._priority.rest(time.monotonic() - start)
        return done

    async def _carry_index(self) -> int:
        done = await self._engine.update_index()
        if problem := self._engine.index_problem:
            raise IndexUnavailable(problem)
        return done

    async def _merge_next(self) -> int:
        if not self._pending_merges:
            return 0
        ref = next(iter(self._pending_merges))
        del self._pending_merges[ref]
        await self._priority.yield_to_calls()
        with suppress(NotFound):  # the client may have been forgotten since
            await self._engine.merged_profile(ref)
        return 1

    async def _follow(self) -> int:
        """Take in other processes' commits; return 0, as once a second is enough."""
        try:
            await self._engine.follow()
        except StoreUnreachable:
            await self._report_store(False)
            raise
        await self._report_store(True)
        return 0

    async def _report_store(self, reachable: bool) -> None:
        if reachable != self._store_reachable and self._health is not None:
            await self._health.report_store(reachable)
        self._store_reachable = reachable
