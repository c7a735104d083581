"""Background work of the service: learning, reasoning, rounds, upkeep and jobs."""

import asyncio
from collections.abc import Awaitable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from propagation.model.errors import NotReached
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
from services.worker.steps import (
    FollowStep,
    HealthReport,
    IndexStep,
    LearnStep,
    MergeStep,
    RetentionStep,
)

CHECK_SECONDS = 15.0
STOP_SECONDS = 10.0
T = TypeVar("T")


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
        self.timings = Timings()
        self.counters = Counters()
        self._failures = Failures(self.counters)

        rounds = RoundStep(engine, priority, self._progress, self._failures, self.timings)
        round_loop = StepLoop("round", rounds.run_if_due)
        reason = ReasonStep(
            engine, priority, self._progress, self._stopping, self._uninterrupted, round_loop.wake
        )
        reason_loop = StepLoop("reason", reason.run)
        learn = LearnStep(engine, priority, self._progress, reason_loop.wake)
        retention = RetentionStep(engine, priority, self._stopping, self._uninterrupted)
        self._rounds = rounds
        self._merges = MergeStep(engine, priority)
        self._follow = FollowStep(engine)
        self._learn_loop = StepLoop("learn", learn.run)
        self._merge_loop = StepLoop("merge", self._merges.run)
        self._loops = (
            self._learn_loop,
            reason_loop,
            round_loop,
            self._merge_loop,
            StepLoop("retention", retention.run),
            StepLoop("index", IndexStep(engine).run),
            StepLoop("follow", self._follow.run),
        )
        self.calendar_jobs = calendar_jobs(
            schedule, engine, clock, self._uninterrupted, self._failures
        )
        self._interval_jobs = (
            IntervalJob(INTERVAL_JOB, engine.settings.round_interval, rounds.run_unless_held),
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
        return len(self._merges.pending)

    def start(self, health: HealthReport | None = None) -> None:
        """Start all loops and jobs.

        Args:
            health: Told when the graph's server stops or starts answering.
        """
        self._follow.health = health
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

    def merge_later(self, ref: int) -> None:
        """Merge a client's pending messages in the background, as it was just read."""
        self._merges.add(ref)
        self._merge_loop.wake.set()

    async def run_round(self, *, drain: bool) -> Round | None:
        """Run a round within a call, whether due or not.

        Args:
            drain: First learn and reason everything that waits.
        """
        with self._priority.waiting():
            if drain:
                await self._engine.drain()
            return await self._rounds.run()

    async def run_uninterrupted(self, work: Awaitable[T]) -> T:
        """Run, within a call, work that other steps must wait for: an evolution or an erasure.

        It runs to its end even if the caller goes away.
        """
        with self._priority.waiting():
            result = await self._uninterrupted.run(work)
        self._progress.advance()
        self._learn_loop.wake.set()
        return result

    async def wait_until_applied(self, sequence: int, seconds: float, *, texts: bool) -> None:
        """Wait, within a call, until the numbers reflect `sequence`, and the texts if asked.

        Raises:
            NotReached: It was not reached in so many seconds.
        """

        async def reasoned_through() -> int:
            reasoned = await self._engine.reasoned_through(exact=True)
            return min(self._engine.applied_through, reasoned)

        with self._priority.waiting():
            if not texts:
                return await self._engine.reach_numbers(sequence, seconds)
            reached = await self._progress.wait_until(reasoned_through, sequence, seconds)
        if reached < sequence:
            raise NotReached(sequence, reached)

    async def wait_for_progress(self, seconds: float) -> None:
        """Wait until something was learned, reasoned or published here, at most so many seconds.

        Another process may have done it without a signal here.
        """
        await self._progress.wait(seconds)
