"""Back-pressure: background work waits while calls come.

An offline reasoner uses the same cores as calls do, and partly the same event loop. So it rests in
proportion to the load of calls.
"""

import asyncio
import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

SLICE_SECONDS = 0.001
GAP_SECONDS = 0.005
LOAD_SECONDS = 0.1
CHECK_SECONDS = 0.001
REST_CHECK_SECONDS = 0.004
MAX_REST_FACTOR, MIN_REST_FACTOR = 9.0, 1.0
MAX_LAG_SECONDS = 300.0
MAX_YIELD_SECONDS, MAX_REST_SECONDS = 0.02, 2.0
FLOOD_SECONDS = 0.05
BUSY_LOAD = 0.3


class CallPriority:
    """Measures the load of calls, and makes background work rest accordingly.

    While calls are answered all the time, background work gets a tenth of the time; without calls
    it gets all. The longer its lag, the less it rests, down to half of the time. So traffic slows
    background work but never starves it. Under steady traffic the lag grows to minutes, then stays.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._resumed = 0.0
        self._rest_factor = MAX_REST_FACTOR
        self._calls = 0
        self._load = 0.0
        self._updated = clock()
        self._gap_until = self._updated
        self._recorded = -math.inf
        self._recording = 0

    @contextmanager
    def call(self) -> Iterator[None]:
        """Wrap a call that waits for its answer."""
        self._count(1)
        try:
            yield
        finally:
            self._count(-1)

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Wrap the part of a call that waits for background work.

        Meanwhile the call does not count, so that it does not slow this work down.
        """
        self._update()
        self._calls -= 1
        try:
            yield
        finally:
            self._count(1)

    @contextmanager
    def recording(self) -> Iterator[None]:
        """Wrap a commit of events, after which more may follow at once.

        It counts as a call: the caller of a stream waits for it, too.
        """
        self._recording += 1
        try:
            with self.call():
                yield
        finally:
            self._recording -= 1
            self._recorded = self._clock()

    @property
    def has_flood(self) -> bool:
        """Whether events are recorded call after call, however long a commit takes."""
        return self._recording > 0 or self._clock() - self._recorded < FLOOD_SECONDS

    @property
    def load(self) -> float:
        """The share of recent time in which calls were answered, 0..1.

        Each moment has a weight, which falls by 1/e in a tenth of a second. While a call is
        answered, the load is 1. A caller often asks again at once, so the GAP_SECONDS after an
        answer count, too.
        """
        self._update()
        return 1.0 if self._calls > 0 else self._load

    @property
    def busy(self) -> bool:
        """Whether calls keep coming; one now and then is not enough."""
        self._update()
        return self._load > BUSY_LOAD

    def set_lag(self, seconds: float) -> None:
        """Set how long the oldest event has waited for background work.

        The longer it has waited, the less background work rests.
        """
        self._rest_factor = max(MIN_REST_FACTOR, MAX_REST_FACTOR * (1 - seconds / MAX_LAG_SECONDS))

    async def rest(self, worked: float, times: float | None = None) -> None:
        """Rest after work on another core, so that calls have a core.

        The rest takes two seconds at most.

        Args:
            worked: How long the work took, in seconds.
            times: Under full load, the ratio of rest to work; None: as the lag allows.
        """
        await self._rest(
            min((self._rest_factor if times is None else times) * worked, MAX_REST_SECONDS),
            REST_CHECK_SECONDS,
        )

    async def yield_to_calls(self) -> None:
        """Let the event loop turn to calls after each slice of work.

        Call this before each piece of work.
        """
        worked = self._clock() - self._resumed
        if worked < SLICE_SECONDS:
            return
        await asyncio.sleep(0)
        await self._rest(min(self._rest_factor * worked, MAX_YIELD_SECONDS), CHECK_SECONDS)
        self._resumed = self._clock()

    async def _rest(self, seconds: float, check: float) -> None:
        """Rest for `seconds` under full load, and less under less load.

        The load is read again every `check` seconds.
        """
        rested = 0.0
        for _ in range(math.ceil(seconds / check)):
            if rested >= seconds * self.load:
                break
            start = self._clock()
            await asyncio.sleep(check)
            rested += self._clock() - start

    def _count(self, calls: int) -> None:
        self._update()
        self._calls += calls
        self._gap_until = self._updated + GAP_SECONDS

    def _update(self) -> None:
        """Bring the load up to date.

        The time since the last update counts as busy while a call is answered and in the gap after
        an answer, and as idle from then on.
        """
        now = self._clock()
        until = now if self._calls > 0 else min(max(self._gap_until, self._updated), now)
        self._load = (
            1 - (1 - self._load) * _compute_weight(until - self._updated)
        ) * _compute_weight(now - until)
        self._updated = now


def _compute_weight(seconds: float) -> float:
    """Return the weight of a moment that is `seconds` ago."""
    return math.exp(-seconds / LOAD_SECONDS)
