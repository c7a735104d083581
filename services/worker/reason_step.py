"""The step of the worker that reasons, with calls first.

It decides how much is reasoned at a time.
"""

import asyncio
import time
from collections import deque
from collections.abc import Callable, Coroutine

import structlog

from propagation.ports import VersionClash
from propagation.workflow.concurrency import run_in_background
from propagation.workflow.reason.reasoning import CLAIM
from services.worker.steps import WorkerContext

BUSY_CLAIM, IDLE_CLAIM = 64, 2048
CHECK_SECONDS = 0.02
MAX_LOST_RACES, RACE_SECONDS = 20, 0.05
LAG_SAMPLE_SECONDS = 5.0
MAX_LAG_SAMPLES = 1_024
log = structlog.get_logger()


class ReasonStep:
    """Reasons one claim after another.

    While no call needs the cores, claims are large, because a claim reads each text only once. A
    claim ends early when calls come, when the worker stops, or when uninterrupted work waits for
    it.
    """

    def __init__(self) -> None:
        self._lag = ReasoningLag()
        self._lost_races = 0

    async def run(self, context: WorkerContext) -> int:
        """Reason a claim.

        Returns:
            How many interactions and texts were reasoned; 1 if another process was first with the
            same clients, so that the step is repeated.

        Raises:
            VersionClash: Another process was first many times in a row.
        """
        try:
            done = await self._run_claim(context)
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

    async def _run_claim(self, context: WorkerContext) -> int:
        engine, reasoning = context.engine, context.engine.reasoning
        claim = engine.reason(BUSY_CLAIM if _must_yield(context) else IDLE_CLAIM, shown=False)
        if reasoning.by_claims:
            done, busy_seconds = await run_claim(claim, context)
        else:
            done, busy_seconds = await claim, 0.0
        if done:
            context.progress.advance()
            context.wakes["round"].set()
            reasoned = await engine.get_reasoned_through()
            context.priority.set_lag(self._lag.measure(engine.applied_through, reasoned))
            # Reasoning in this event loop has rested between its interactions.
            await context.priority.rest(busy_seconds if reasoning.drafts_elsewhere else 0.0)
        return done


async def run_claim(claim: Coroutine[None, None, int], context: WorkerContext) -> tuple[int, float]:
    """Run a claim, and end it early if other work waits.

    Then the part that is being drafted is the claim's last one. During a large claim, rounds run as
    often as they would after claims of the usual size, CLAIM.

    Returns:
        How many interactions and texts were reasoned, and for how many seconds of the run other
        work waited.
    """
    reasoning = context.engine.reasoning
    signalled, rounds, busy_seconds = 0, 0, 0.0
    last_check = time.monotonic()
    async with run_in_background(claim) as task:
        while not task.done():
            committed = reasoning.committed
            await asyncio.wait([task], timeout=CHECK_SECONDS)
            elapsed = time.monotonic() - last_check
            last_check += elapsed
            if committed is None:  # the claim waits for other work
                continue
            if _must_yield(context):
                busy_seconds += elapsed
                context.engine.stop_claim_early()
            if committed > signalled:
                signalled = committed
                context.progress.advance()
            if committed // CLAIM > rounds:
                rounds = committed // CLAIM
                context.wakes["round"].set()
        return await task, busy_seconds


def _must_yield(context: WorkerContext) -> bool:
    """Tell whether calls, a stop or uninterrupted work wait for reasoning."""
    return context.priority.busy or context.stopping.is_set() or context.uninterrupted.running


class ReasoningLag:
    """The age of the oldest event that waits for reasoning.

    It counts from the time at which this process saw that the event was learned.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._samples: deque[tuple[float, int]] = deque(maxlen=MAX_LAG_SAMPLES)

    def measure(self, learned: int, reasoned: int) -> float:
        """Take a sample of both sequences and return the lag in seconds.

        Only MAX_LAG_SAMPLES samples are kept. A longer lag counts from the first of them; by then
        reasoning has long rested as little as it may.
        """
        now = self._clock()
        while self._samples and self._samples[0][1] <= reasoned:
            self._samples.popleft()
        if learned > reasoned and (
            not self._samples or now - self._samples[-1][0] >= LAG_SAMPLE_SECONDS
        ):
            self._samples.append((now, learned))
        return now - self._samples[0][0] if self._samples else 0.0
