"""Background work of the service: learning, reasoning, rounds, upkeep and jobs."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from typing import TypeVar

from propagation.model import NotReached, PropagationError, Round, StoreUnreachable
from propagation.ports import Clock
from propagation.workflow.concurrency import run_in_background
from propagation.workflow.engine import Engine
from services.config.settings import ScheduleSettings
from services.schedule.calendar_job import create_calendar_jobs
from services.worker.call_priority import CallPriority
from services.worker.postponed_retries import PostponedRetries
from services.worker.reason_step import ReasonStep
from services.worker.steps import (
    INTERVAL_JOB,
    ReachableReport,
    WorkerContext,
    check_store,
    follow,
    learn,
    merge,
    note_abandoned_round,
    prepare_withdrawal,
    queue_merge,
    repeat_job,
    repeat_step,
    replay,
    retain,
    run_due_round,
    run_interval_round,
    run_round,
    update_index,
)

CHECK_SECONDS = 15.0
MEASURE_SECONDS = 15.0
MEASURING_JOB = "measurements"
STOP_SECONDS = 10.0
SERVERS = ("index", "reasoner")
T = TypeVar("T")


class Worker:
    """Runs the engine's background work, and lets calls wait for it.

    Each step runs in a loop of its own; jobs run at an interval or by the calendar. A failure is
    logged, counted, shown in `failing` and retried; it never ends a loop.

    Attributes:
        timings: The times of calls and steps.
        counters: The counts of steps and jobs.
        failures: The failures of steps and jobs.
    """

    def __init__(
        self, engine: Engine, priority: CallPriority, schedule: ScheduleSettings, clock: Clock
    ) -> None:
        self._context = WorkerContext(engine, priority)
        self._clock = clock
        self.timings = self._context.timings
        self.failures = self._context.failures
        self.counters = self.failures.counters
        self.calendar_jobs = create_calendar_jobs(
            schedule, engine, clock, self._context.uninterrupted, self.failures
        )
        self._loop_tasks: list[asyncio.Task[None]] = []
        self._job_tasks: list[asyncio.Task[None]] = []

    @property
    def failing(self) -> dict[str, str]:
        """The steps, jobs and servers that fail now, with their reasons.

        An index or a model that does not answer is named even before a step has failed.
        """
        engine = self._context.engine
        named = zip(SERVERS, (engine.index_problem, engine.reasoner_problem), strict=True)
        return {name: reason for name, reason in named if reason} | self.failures.reasons

    @property
    def quoting(self) -> set[str]:
        """The names in `failing` whose reason may quote users' texts."""
        return {*SERVERS, *self.failures.quoting}

    @property
    def merges_waiting(self) -> int:
        """The number of clients that wait for a merge after a read."""
        return len(self._context.pending_merges)

    def start(self, report_reachable: ReachableReport) -> None:
        """Start all loops and jobs.

        Args:
            report_reachable: Called about every second, with whether the graph's server answers.
        """
        steps: dict[str, Callable[[WorkerContext], Awaitable[int]]] = {
            "learn": learn,
            "reason": ReasonStep().run,
            "round": run_due_round,
            "merge": merge,
            "replay": replay,
            "retention": retain,
            "index": update_index,
            "follow": follow,
            "store": partial(check_store, report_reachable),
        }
        # If a counter starts at zero, Prometheus sees its first increase.
        named = [
            ("round_routers_skipped_total", ""),
            ("rounds_abandoned_total", ""),
            *(("steps_failed_total", name) for name in steps),
            *(
                (name, job.name)
                for name in ("jobs_run_total", "jobs_failed_total", "jobs_missed_total")
                for job in self.calendar_jobs
            ),
        ]
        self.counters.update(dict.fromkeys(named, 0))
        self._loop_tasks = [
            asyncio.create_task(repeat_step(name, step, self._context), name=name)
            for name, step in steps.items()
        ]
        interval = self._context.engine.settings.round_interval
        jobs = [
            prepare_withdrawal(self._context),
            repeat_job(
                INTERVAL_JOB,
                interval,
                partial(run_interval_round, self._context, PostponedRetries(interval)),
                self.failures,
                rests=True,  # else a slow model would write routers' texts all the time
            ),
            repeat_job(MEASURING_JOB, MEASURE_SECONDS, self._note_measurements, self.failures),
            *(
                repeat_job(
                    f"schedule of {job.name}", CHECK_SECONDS, job.check, self.failures, at_once=True
                )
                for job in self.calendar_jobs
            ),
        ]
        self._job_tasks = [asyncio.create_task(job) for job in jobs]

    async def stop(self) -> None:
        """Stop the loops and the jobs, and wait for uninterrupted work.

        Loops end after their current step, and jobs at once. A calendar job that is cut short is
        due again at the next start.
        """
        self._context.stopping.set()
        self._context.engine.stop_within(STOP_SECONDS)
        for task in self._job_tasks:
            task.cancel()
        await asyncio.gather(*self._job_tasks, return_exceptions=True)
        await self._context.uninterrupted.finish()
        for wake in self._context.wakes.values():
            wake.set()
        await asyncio.gather(*self._loop_tasks)
        await self._context.uninterrupted.finish()
        if not self._context.outage.began.is_set():
            with suppress(PropagationError):  # the ledger of budgets counts all costs
                await self._note_measurements()

    async def _note_measurements(self) -> None:
        await self._context.engine.note_measurements(self._clock.now_ms())

    @contextmanager
    def recording(self) -> Iterator[None]:
        """Wrap a commit of events or clients, which wakes learning."""
        with self._context.priority.recording():
            yield
        self._context.wakes["learn"].set()

    def queue_merge(self, ref: int) -> None:
        """Merge a client's pending messages in the background, after a read."""
        queue_merge(self._context, ref)

    async def queue_dead_letters(self, sequences: Sequence[int] | None) -> int:
        """Queue dead letters, and let this process try them again.

        Args:
            sequences: Dead letters; None: all.

        Returns:
            How many of them are queued now.
        """
        queued = await self._context.engine.store.queue_dead_letters(sequences)
        self._context.wakes["replay"].set()
        return queued

    async def run_round(self, *, drain: bool) -> Round | None:
        """Run a round within a call, whether due or not.

        Args:
            drain: First learn and reason everything that waits.

        Raises:
            LeaseHeld: Another process runs a round.
            RoundAbandoned: The round gave way.
        """
        with self._context.priority.waiting():
            if drain:
                with note_abandoned_round(self._context):
                    await self._context.engine.drain()
            return await run_round(self._context)

    async def note_run(self, name: str) -> None:
        """Note that a call just ran the task of a calendar job."""
        for job in self.calendar_jobs:
            if job.name == name:
                await job.note_run()

    async def run_preview(self, work: Awaitable[T]) -> T:
        """Run work that changes nothing, and that ends with its call."""
        with self._context.priority.waiting():
            return await work

    async def run_uninterrupted(self, work: Awaitable[T]) -> T:
        """Run, within a call, work that other steps must wait for.

        Such work is an evolution, a retraction or an erasure. It runs to its end even if the caller
        goes away.
        """
        with self._context.priority.waiting():
            result = await self._context.uninterrupted.run(work)
        self._context.progress.advance()
        self._context.wakes["learn"].set()
        return result

    async def wait_until_applied(self, sequence: int, seconds: float, *, texts: bool) -> None:
        """Wait within a call until the numbers reflect `sequence`.

        Args:
            texts: Whether the texts must reflect it too.

        Raises:
            NotReached: `sequence` was not reached within `seconds`.
            StoreUnreachable: The graph's server does not answer, so waiting is of no use.
        """
        outage = self._context.outage
        if not texts and self._context.engine.applied_through >= sequence:
            return
        with self._context.priority.waiting():
            async with (
                run_in_background(self._wait(sequence, seconds, texts=texts)) as reached,
                run_in_background(outage.began.wait()) as away,
            ):
                await asyncio.wait((reached, away), return_when=asyncio.FIRST_COMPLETED)
                if not reached.done():
                    raise StoreUnreachable(outage.reason)
                reached.result()

    async def _wait(self, sequence: int, seconds: float, *, texts: bool) -> None:
        async def reasoned_through() -> int:
            reasoned = await self._context.engine.get_reasoned_through(exact=True)
            return min(self._context.engine.applied_through, reasoned)

        if not texts:
            return await self._context.engine.wait_until_applied(sequence, seconds)
        reached = await self._context.progress.wait_until(reasoned_through, sequence, seconds)
        if reached < sequence:
            raise NotReached(sequence, reached)

    async def wait_for_progress(self, seconds: float) -> None:
        """Wait until something was learned, reasoned or published here.

        The wait ends after `seconds` in any case: progress of other processes gives no signal here.
        """
        await self._context.progress.wait(seconds)
