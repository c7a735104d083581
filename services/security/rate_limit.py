"""Rate limits: a token bucket for each client."""

import time

from cachetools import LRUCache

from propagation.errors import PropagationError

CLIENTS = 10_000  # buckets kept; the client that called least recently loses its bucket first
BURST_SECONDS = 2.0  # unused allowance is saved for this long


class RateLimited(PropagationError):
    """A client exceeded its share; it may ask again after `retry_seconds`."""

    def __init__(self, unit: str, retry_seconds: float) -> None:
        super().__init__(
            f"too many {unit} a second from one client; try again in {retry_seconds:.1f} s"
        )
        self.retry_seconds = round(retry_seconds, 3)


class TokenBuckets:
    """A token bucket for each client, of some seconds' allowance.

    Rate None limits nothing.
    """

    def __init__(self, rate: float | None, unit: str, burst_seconds: float = BURST_SECONDS) -> None:
        self.rate = rate
        self._unit = unit
        self._burst_seconds = burst_seconds
        self._buckets: LRUCache[str, tuple[float, float]] = LRUCache(CLIENTS)

    def take(self, client: str, amount: float) -> None:
        """Take an amount from the client's bucket. Raises RateLimited."""
        if wait := self.take_or_wait(client, amount):
            raise RateLimited(self._unit, wait)

    def take_or_wait(self, client: str, amount: float) -> float:
        """Take an amount from the client's bucket, or report the wait.

        A full bucket also gives more than it holds; it then has to fill up from below zero.

        Returns:
            Seconds to wait, with nothing taken; 0 if the amount was taken.
        """
        if self.rate is None:
            return 0.0
        level, now, capacity = self._level(client, self.rate)
        missing = min(amount, capacity) - level
        self._buckets[client] = (level if missing > 0 else level - amount, now)
        return max(missing, 0.0) / self.rate

    def queue(self, client: str, longest_seconds: float) -> float:
        """Take 1 from the client's bucket as soon as it has filled up.

        Returns:
            Seconds until then, for which the caller is to wait.

        Raises:
            RateLimited: It would take longer than `longest_seconds`; nothing was taken.
        """
        if self.rate is None:
            return 0.0
        level, now, _ = self._level(client, self.rate)
        wait = max(1 - level, 0.0) / self.rate
        if wait > longest_seconds:
            raise RateLimited(self._unit, wait - longest_seconds)
        self._buckets[client] = (level - 1, now)
        return wait

    def _level(self, client: str, rate: float) -> tuple[float, float, float]:
        """Return the bucket's level, the time, and how much it can have."""
        now, capacity = time.monotonic(), rate * self._burst_seconds
        level, at = self._buckets.get(client, (capacity, now))
        return min(level + (now - at) * rate, capacity), now, capacity
