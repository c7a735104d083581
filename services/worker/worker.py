"""What goes on behind the calls: learn as soon as something is recorded, reason behind it, rounds
when they are due."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

import structlog

from propagation.model.errors import (
    EndpointUnavailable,
    IndexUnavailable,
    LeaseHeld,
    LeaseLost,
    NotFound,
    NotReached,
    PropagationError,
    StoreUnreachable,
)
from propagation.model.routers.evolution import EvolutionRun
from propagation.model.routers.round import Round
from propagation.ports.clock import Clock
from propagation.ports.graph.graph_store import VersionClash
from propagation.workflow.engine import Engine
from services.config.settings import ScheduleSettings
from services.runtime.measurements import Counters, Timings
from services.schedule.calendar_job import Task
from services.schedule.jobs import calendar_jobs
from services.worker.call_priority import CallPriority
from services.worker.periodic_jobs import Job, Jobs
from services.worker.progress_events import Steps, woken
from services.worker.reason_step import ReasonStep
from services.worker.store_probe import StoreWatch, Told, told_nobody

OTHER_PROCESSES_SECONDS = 1.0
RETRY_SECONDS = 0.5
RETRY_LONGEST_SECONDS, RETRY_AWAY_SECONDS = 30.0, 2.0
MERGES_WAITING = 10_000
# Where more than so much waits to be learned while events are recorded one call after another, acks
# go first.
FLOOD, FLOOD_REST = 1_000, 3.0
ROUTER, INTERVAL = "router ", "round_interval"
LOOK_SECONDS = 15.0
STOP_SECONDS = 10.0
EXPECTED = (PropagationError, VersionClash, LeaseLost)
AWAY = (EndpointUnavailable, StoreUnreachable)
T = TypeVar("T")
log = structlog.get_logger()


class Worker:
    """Runs until stopped. An error is logged, counted, shown in `failing` and tried again, later
    each time; it never ends a loop."""

    def __init__(
        self, engine: Engine, priority: CallPriority, schedule: ScheduleSettings, clock: Clock
    ) -> None:
        self._engine = engine
        self._priority = priority
        self.timings = Timings()
        self._steps = Steps()
        self._wake = {
            name: asyncio.Event()
            for name in ("learn", "reason", "round", "merge", "retention", "index", "follow")
        }
        self._to_merge: dict[int, None] = {}
        self._stopping = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []
        self._evolving: set[asyncio.Task[EvolutionRun]] = set()
        self._unstoppable: set[asyncio.Future[Any]] = set()
        self.reason = ReasonStep(
            engine, priority, self._waited_for, self._steps.moved, self._wake["round"].set
        )
        self.failing: dict[str, str] = {}
        self.counters = Counters()
        tasks = (
            {"evolution": Task(self.evolve, self._evolved_between)}
            if engine.settings.propagate
            else {}
        )
        self.calendar_jobs = calendar_jobs(
            schedule, tasks, engine, clock, self.failing, self.counters
        )
        self._jobs = Jobs(
            [
                Job(INTERVAL, engine.settings.round_interval, self._interval_round),
                *(
                    Job(f"look at {job.name}", LOOK_SECONDS, job.check, at_once=True)
                    for job in self.calendar_jobs
                ),
            ],
            self.failing,
            self.counters,
        )

    def start(self, tell: Told = told_nobody) -> None:
        """`tell`: see StoreWatch."""
        steps: dict[str, Callable[[], Awaitable[int]]] = {
            "learn": self._learn,
            "reason": self.reason.step,
            "round": self._due_round,
            "merge": self._merge_next,
            "retention": self._retain,
            "index": self._carry,
            "follow": StoreWatch(self._engine.follow, tell).step,
        }
        self.counters.begin("round_routers_skipped_total", "")
        self.counters.begin("steps_failed_total", *steps)
        for counted in ("jobs_run_total", "jobs_failed_total", "jobs_missed_total"):
            self.counters.begin(counted, *(job.name for job in self.calendar_jobs))
        self._tasks = [
            asyncio.create_task(self._loop(name, step), name=name) for name, step in steps.items()
        ]
        self._jobs.start()

    async def stop(self) -> None:
        """Each loop ends after the step it is in."""
        self._stopping.set()
        self._engine.reasoning.drafting.hurry()
        self._engine.stop_within(STOP_SECONDS)
        await self._jobs.stop()
        await asyncio.gather(*self._evolving, return_exceptions=True)
        for wake in self._wake.values():
            wake.set()
        await asyncio.gather(*self._tasks)
        await asyncio.gather(*self._unstoppable, return_exceptions=True)

    @contextmanager
    def recording(self) -> Iterator[None]:
        """Around a commit of what is to be learned."""
        with self._priority.recording():
            yield
        self._wake["learn"].set()

    def merge_behind(self, ref: int) -> None:
        """A client was read with messages waiting: merge them soon."""
        if len(self._to_merge) < MERGES_WAITING:
            self._to_merge[ref] = None
            self._wake["merge"].set()

    @property
    def merges_waiting(self) -> int:
        """Clients that were read with messages waiting."""
        return len(self._to_merge)

    async def run_round(self) -> Round | None:
        """A round now, whether due or not."""
        begun = time.monotonic()
        done = await self._engine.run_round()
        self.failing.pop(INTERVAL, None)  # what its last run failed with is over
        if done is not None:
            self.timings.add("round", time.monotonic() - begun)
            self._say_skipped(done.number)
        self._steps.moved()
        return done

    def _say_skipped(self, number: int) -> None:
        """Routers that the last round left out stand in `failing` until a round takes them in."""
        for name in [name for name in self.failing if name.startswith(ROUTER)]:
            del self.failing[name]
        for router, reason in self._engine.rounds.postponed.items():
            self.failing[f"{ROUTER}{router}"] = (
                f"left out of round {number}, due in the next: {reason}"
            )
            self.counters.add("round_routers_skipped_total")

    async def run_round_for_caller(self, *, drain: bool) -> Round | None:
        """Inside of a call: a round now, after everything that waits where `drain`."""
        with self._priority.waiting():
            if drain:
                await self._engine.drain()
            return await self.run_round()

    async def evolve(self, *, dry_run: bool = False, undo: int | None = None) -> EvolutionRun:
        """An evolution now; see Engine.evolve. A caller that goes away does not stop it half way."""
        task = asyncio.create_task(self._engine.evolve(dry_run=dry_run, undo=undo))
        self._evolving.add(task)
        task.add_done_callback(self._evolving.discard)
        run = await asyncio.shield(task)
        self._steps.moved()
        return run

    async def evolve_for_caller(self, *, dry_run: bool, undo: int | None) -> EvolutionRun:
        """Inside of a call: what is being reasoned must not give way to the very call that waits
        for it."""
        with self._priority.waiting():
            return await self.evolve(dry_run=dry_run, undo=undo)

    async def _evolved_between(self, since_ms: int, until_ms: int) -> bool:
        return any(
            since_ms <= run.time <= until_ms for run in await self._engine.store.evolution_runs(1)
        )

    async def still(self, work: Awaitable[T]) -> T:
        """Inside of a call: what keeps the steps still while it runs, and leaves an entry in the
        log. A caller that goes away does not stop it half way."""
        task = asyncio.ensure_future(work)
        self._unstoppable.add(task)
        task.add_done_callback(self._unstoppable.discard)
        with self._priority.waiting():
            done = await asyncio.shield(task)
        self._steps.moved()
        self._wake["learn"].set()
        return done

    async def wait_for(self, sequence: int, seconds: float, *, texts: bool) -> None:
        """Inside of a call: until the numbers reflect `sequence`, and the texts where told. Raises
        NotReached after `seconds`."""
        with self._priority.waiting():
            if not texts:
                return await self._engine.numbers.reach(sequence, seconds)
            reached = await self._steps.until(self._reasoned_through, sequence, seconds)
        if reached < sequence:
            raise NotReached(sequence, reached)

    async def progressed(self, seconds: float) -> None:
        """Until something was learned, reasoned or published here, or so many seconds: another
        process may have done it."""
        await self._steps.following(seconds)

    async def _reasoned_through(self) -> int:
        return min(
            self._engine.numbers.view.applied_through, await self._engine.store.reasoned_through()
        )

    async def _learn(self) -> int:
        begun = time.monotonic()
        done = await self._engine.learn()
        if done:
            self._steps.moved()
            self._wake["reason"].set()
        if done >= FLOOD and self._priority.flooded:
            await self._priority.rest(time.monotonic() - begun, FLOOD_REST)
        return done

    def _waited_for(self) -> bool:
        """Whether others than calls wait for the end of what reasoning holds."""
        return self._stopping.is_set() or bool(self._evolving or self._unstoppable)

    async def _due_round(self) -> int:
        if self._engine.settings.propagate and await self._engine.round_is_due():
            begun = time.monotonic()
            await self._interval_round()
            if self._priority.flooded:
                await self._priority.rest(time.monotonic() - begun)
        return 0

    async def _interval_round(self) -> None:
        if self._engine.settings.propagate:
            with suppress(LeaseHeld):
                await self.run_round()

    async def _retain(self) -> bool:
        if self._waited_for():
            return False  # it can wait
        begun = time.monotonic()
        done = await self._engine.retain()
        await self._priority.rest(time.monotonic() - begun)
        return done

    async def _carry(self) -> int:
        done = await self._engine.carry()
        if problem := self._engine.upkeep.problem:
            raise IndexUnavailable(problem)
        return done

    async def _merge_next(self) -> int:
        if not self._to_merge:
            return 0
        ref = next(iter(self._to_merge))
        del self._to_merge[ref]
        await self._priority.yield_to_calls()
        with suppress(NotFound):  # forgotten since
            await self._engine.profiles.merged(ref)
        return 1

    async def _loop(self, name: str, step: Callable[[], Awaitable[int]]) -> None:
        wake, pause = self._wake[name], RETRY_SECONDS
        while not self._stopping.is_set():
            wake.clear()
            begun = time.monotonic()
            try:
                busy = await step()
            except Exception as error:
                pause = min(
                    pause, RETRY_AWAY_SECONDS if isinstance(error, AWAY) else RETRY_LONGEST_SECONDS
                )
                self._failed(name, error, pause)
                await woken(self._stopping, pause)
                pause *= 2
                continue
            if busy:
                self.timings.add(name, time.monotonic() - begun)
            pause = RETRY_SECONDS
            self.failing.pop(name, None)
            if not busy:
                await woken(
                    wake, OTHER_PROCESSES_SECONDS
                )  # another process may have committed something

    def _failed(self, name: str, error: Exception, pause: float) -> None:
        self.counters.add("steps_failed_total", name)
        told = str(error) if isinstance(error, EXPECTED) else f"{type(error).__name__}; see the log"
        self.failing[name] = (
            f"{told}; tried again at {datetime.now(UTC) + timedelta(seconds=pause):%H:%M:%S} UTC"
        )
        if isinstance(error, EXPECTED):
            log.warning("step failed", loop=name, error=str(error))
        else:
            log.error("step failed unexpectedly", loop=name, exc_info=error)
