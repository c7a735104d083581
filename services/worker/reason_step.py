"""The reasoning of this process: how much at a time, so that calls come first."""

import asyncio
import time
from collections import deque
from collections.abc import Callable, Coroutine

import structlog

from propagation.ports.graph.graph_store import VersionClash
from propagation.workflow.concurrency.tasks import background_task
from propagation.workflow.engine import Engine
from propagation.workflow.reason.reason_step import CLAIM
from services.runtime.tasks import Progress, UninterruptedWork
from services.worker.call_priority import CallPriority

BUSY_CLAIM, IDLE_CLAIM = 64, 2048
CHECK_SECONDS = 0.02
MAX_LOST_RACES, RACE_SECONDS = 20, 0.05
LAG_SAMPLE_SECONDS = 5.0
MAX_LAG_SAMPLES = 1_024
log = structlog.get_logger()


class ReasonStep:
    """Reasons one claim after another.

    A claim is large while no call needs the cores: what it reads it reads once. It ends early when
    calls come, when the worker stops, or when uninterrupted work waits for it.
    """

    def __init__(
        self,
        engine: Engine,
        priority: CallPriority,
        progress: Progress,
        stopping: asyncio.Event,
        uninterrupted: UninterruptedWork,
        round_wake: asyncio.Event,
    ) -> None:
        self._engine = engine
        self._priority = priority
        self._progress = progress
        self._stopping = stopping
        self._uninterrupted = uninterrupted
        self._round_wake = round_wake
        self._lag = ReasoningLag()
        self._lost_races = 0

    async def run(self) -> int:
        """Reason a claim.

        Returns:
            How many interactions and texts were reasoned; 1 if another process was first with the
            same clients, so that the step is repeated.

        Raises:
            VersionClash: Another process was first many times in a row.
        """
        try:
            done = await self._run_claim()
        except VersionClash as clash:
            self._lost_races += 1
            if self._lost_races > MAX_LOST_RACES:
                raise
            log.info(
                "another process was first with a client's text: reasoning it again",
                client=clash.ref,
            )
            await asyncio.sleep(RACE_SECONDS * self._lost_races)
            return 1
        self._lost_races = 0
        return done

    @property
    def must_yield(self) -> bool:
        """Whether calls, a stop, or uninterrupted work wait for reasoning to end its claim."""
        return self._priority.busy or self._stopping.is_set() or self._uninterrupted.running

    async def _run_claim(self) -> int:
        reasoning = self._engine.reasoning
        claim = self._engine.reason(BUSY_CLAIM if self.must_yield else IDLE_CLAIM, shown=False)
        done, worked = await self.beside_calls(claim) if reasoning.by_claims else (await claim, 0.0)
        if done:
            self._progress.advance()
            self._round_wake.set()
            learned = self._engine.applied_through
            reasoned = await self._engine.reasoned_through()
            self._priority.set_lag(self._lag.measure(learned, reasoned))
            # on the loop it rested between interactions
            await self._priority.rest(worked if reasoning.beside else 0.0)
        return done

    async def beside_calls(self, claim: Coroutine[None, None, int]) -> tuple[int, float]:
        """(How much was reasoned, for how many seconds beside calls.) Much at once while nobody
        calls: what a large claim reads and receives it reads and receives once. When somebody
        waits, the part that is being drafted is its last one. Rounds go on inside of it, as after
        claims of the usual size."""
        reasoning, told, rounds, worked, looked = (
            self._engine.reasoning,
            0,
            0,
            0.0,
            time.monotonic(),
        )
        async with background_task(claim) as claiming:
            while not claiming.done():
                committed = reasoning.committed
                await asyncio.wait([claiming], timeout=CHECK_SECONDS)
                before, looked = looked, time.monotonic()
                if committed is None:  # others are waited for
                    continue
                if self.must_yield:
                    worked += looked - before
                    reasoning.drafting.end_early()
                if committed > told:
                    told = committed
                    self._progress.advance()
                if committed // CLAIM > rounds:
                    rounds = committed // CLAIM
                    self._round_wake.set()
            return await claiming, worked


class ReasoningLag:
    """The age of the oldest event that this process saw learned and not yet reasoned."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._samples: deque[tuple[float, int]] = deque()

    def measure(self, learned: int, reasoned: int) -> float:
        """Take a sample of both sequences and return the lag in seconds.

        When the lag is long, every second sample is dropped from time to time, never the oldest.
        """
        now = self._clock()
        while self._samples and self._samples[0][1] <= reasoned:
            self._samples.popleft()
        if learned > reasoned and (
            not self._samples or now - self._samples[-1][0] >= LAG_SAMPLE_SECONDS
        ):
            self._samples.append((now, learned))
        if len(self._samples) > MAX_LAG_SAMPLES:
            self._samples = deque(list(self._samples)[::2])
        return now - self._samples[0][0] if self._samples else 0.0
