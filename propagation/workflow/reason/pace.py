"""The pace at which this process reasons, over its last interactions."""

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from propagation.model import Usage

RECENT = 100


@dataclass(frozen=True)
class PaceReading:
    """The pace over the last interactions of this process.

    Attributes:
        interactions: How many were looked at, at most RECENT.
        seconds: Seconds that an interaction waited for answers of the model, on average.
        completion_tokens: Tokens of these answers, on average.
        per_second: Interactions a second while there was work; None if it is not known yet.
    """

    interactions: int
    seconds: float
    completion_tokens: float
    per_second: float | None


class Pace:
    """Measures interactions against the time during which there was work.

    Args:
        concurrency: How many interactions may be under way; fewer are too few to tell a pace.
    """

    def __init__(self, concurrency: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._concurrency = concurrency
        self._clock = clock
        self._busy_before = 0.0
        self._busy_since: float | None = None
        # For each interaction: when the time that it took begins, its seconds and its tokens.
        self._done: deque[tuple[float, float, int]] = deque(maxlen=RECENT)
        self._last_done = 0.0

    def resume(self) -> None:
        """Note that there is work."""
        if self._busy_since is None:
            self._busy_since = self._clock()

    def pause(self) -> None:
        """Note that there is no more work."""
        self._busy_before, self._busy_since = self._get_busy_seconds(), None

    def add(self, usage: Usage) -> None:
        """Count an interaction that is done."""
        total = usage.total
        self._done.append((self._last_done, total.seconds, total.completion_tokens))
        self._last_done = self._get_busy_seconds()

    def read(self) -> PaceReading:
        """Return the present pace, which falls while nothing gets done."""
        count = len(self._done)
        if not count:
            return PaceReading(0, 0.0, 0.0, None)
        seconds = self._get_busy_seconds() - self._done[0][0]
        known = count >= self._concurrency and seconds > 0
        return PaceReading(
            count,
            sum(one[1] for one in self._done) / count,
            sum(one[2] for one in self._done) / count,
            count / seconds if known else None,
        )

    def _get_busy_seconds(self) -> float:
        running = 0.0 if self._busy_since is None else self._clock() - self._busy_since
        return self._busy_before + running
