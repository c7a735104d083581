"""Calls before reasoning: an offline reasoner computes on the cores, and partly on the loop, that
also answer calls, so it takes turns."""

import asyncio
import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

SLICE_SECONDS = 0.001
GAP_SECONDS = 0.005
MEMORY_SECONDS = 0.1
LOOK_SECONDS = 0.001
REST_LOOK_SECONDS = 0.004
REST, REST_LEAST = 9.0, 1.0
PATIENCE_SECONDS = 300.0
LONGEST_SECONDS, REST_LONGEST_SECONDS = 0.02, 2.0
FLOOD_SECONDS = 0.05
BUSY = 0.3


class CallPriority:
    """Work rests in proportion to `load`: while calls are answered all the time it takes a tenth of
    it, when there are none all of it. The longer it is behind the less it rests, down to half of
    the time: it is slowed by traffic and never starved, and under steady traffic it is behind by
    minutes, not by ever more."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._resumed = 0.0
        self._times = REST
        self._calls = 0
        self._load = 0.0
        self._seen = clock()
        self._gap_until = self._seen
        self._recorded = -math.inf
        self._recording = 0

    @contextmanager
    def call(self) -> Iterator[None]:
        """Around a call that waits for its answer."""
        self._count(1)
        try:
            yield
        finally:
            self._count(-1)

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Inside of a call that waits for what it would otherwise slow down."""
        self._look()
        self._calls -= 1
        try:
            yield
        finally:
            self._count(1)

    @contextmanager
    def recording(self) -> Iterator[None]:
        """Around events' commit: more may follow at once."""
        self._recording += 1
        try:
            yield
        finally:
            self._recording -= 1
            self._recorded = self._clock()

    @property
    def flooded(self) -> bool:
        """Whether events are being recorded one call after another, however long a commit takes."""
        return self._recording > 0 or self._clock() - self._recorded < FLOOD_SECONDS

    @property
    def load(self) -> float:
        """The share of the last tenth of a second in which calls were being answered, 0 to 1, older
        moments weighing less; 1 while one is. A caller often asks again at once, so the short time
        after an answer counts as well."""
        self._look()
        return 1.0 if self._calls > 0 else self._load

    @property
    def busy(self) -> bool:
        """Whether calls keep coming: a single one, or one now and then, is none of it."""
        self._look()
        return self._load > BUSY

    def set_lag(self, seconds: float) -> None:
        """The oldest of what waits for this work has waited so long."""
        self._times = max(REST_LEAST, REST * (1 - seconds / PATIENCE_SECONDS))

    async def rest(self, worked: float, times: float | None = None) -> None:
        """After work on another core that took so many seconds: so many times as long, at most for
        two seconds. That work, this loop, and whoever calls may have to do with two cores."""
        await self._rest(
            min((self._times if times is None else times) * worked, REST_LONGEST_SECONDS),
            REST_LOOK_SECONDS,
        )

    async def yield_to_calls(self) -> None:
        """Called before each piece of work: after a slice of it the loop turns to others, for
        longer while it is busy."""
        worked = self._clock() - self._resumed
        if worked < SLICE_SECONDS:
            return
        await asyncio.sleep(0)
        await self._rest(min(self._times * worked, LONGEST_SECONDS), LOOK_SECONDS)
        self._resumed = self._clock()

    async def _rest(self, seconds: float, look: float) -> None:
        """So long under full load, a share of it under less."""
        rested = 0.0
        for _ in range(math.ceil(seconds / look)):
            if rested >= seconds * self.load:
                break
            begun = self._clock()
            await asyncio.sleep(look)
            rested += self._clock() - begun

    def _count(self, calls: int) -> None:
        self._look()
        self._calls += calls
        self._gap_until = self._seen + GAP_SECONDS

    def _look(self) -> None:
        """Bring `load` up to now: answering, then the rest of a gap, then nothing."""
        now = self._clock()
        until = now if self._calls > 0 else min(max(self._gap_until, self._seen), now)
        self._load = (1 - (1 - self._load) * _kept(until - self._seen)) * _kept(now - until)
        self._seen = now


def _kept(seconds: float) -> float:
    """What a moment so long ago still weighs."""
    return math.exp(-seconds / MEMORY_SECONDS)
