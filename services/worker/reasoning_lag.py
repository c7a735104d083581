"""How long texts are behind."""

import time
from collections import deque
from collections.abc import Callable

EACH_SECONDS = 5.0
MOMENTS = 1_024


class Lag:
    """The age of the oldest event that is not reasoned yet, as far as this process has seen it
    learned."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._seen: deque[tuple[float, int]] = deque()

    def seconds(self, learned: int, reasoned: int) -> float:
        """Told how far both have come by now (sequences). Of a long lag ever fewer moments are
        kept, the oldest among them."""
        now = self._clock()
        while self._seen and self._seen[0][1] <= reasoned:
            self._seen.popleft()
        if learned > reasoned and (not self._seen or now - self._seen[-1][0] >= EACH_SECONDS):
            self._seen.append((now, learned))
        if len(self._seen) > MOMENTS:
            self._seen = deque(list(self._seen)[::2])
        return now - self._seen[0][0] if self._seen else 0.0
