"""Rate limits: how much one client may use a second.

Calls, bytes and wrong tokens each have a limit of their own.
"""

import time

from cachetools import LRUCache

from propagation.errors import PropagationError

CLIENTS = 10_000  # buckets kept; the client that called least recently loses its bucket first


class RateLimited(PropagationError):
    """A client exceeded its share; it may ask again after `retry_seconds`."""

    def __init__(self, unit: str, retry_seconds: float) -> None:
        super().__init__(
            f"too many {unit} a second from one client; try again in {retry_seconds:.1f} s"
        )
        self.retry_seconds = round(retry_seconds, 3)


class TokenBuckets:
    """A token bucket for each client, of some seconds' allowance.

    Unused allowance is saved for `burst_seconds`. If `rate` is None, there is no limit.
    """

    def __init__(self, rate: float | None, unit: str, burst_seconds: float = 2.0) -> None:
        self.rate = rate
        self._unit = unit
        self._burst_seconds = burst_seconds
        self._buckets: LRUCache[str, tuple[float, float]] = LRUCache(CLIENTS)

    def take(self, client: str, amount: float, longest_seconds: float = 0.0) -> float:
        """Take an amount from a client's bucket, if need be in advance.

        A full bucket also gives an amount that is larger than the bucket. Its level is then below
        zero, and has to rise again.

        Returns:
            Seconds until the bucket has the amount; the caller must wait so long.

        Raises:
            RateLimited: The wait would be longer than `longest_seconds`; nothing was taken.
        """
        if self.rate is None:
            return 0.0
        now, capacity = time.monotonic(), self.rate * self._burst_seconds
        saved, at = self._buckets.get(client, (capacity, now))
        level = min(saved + (now - at) * self.rate, capacity)
        wait = max(min(amount, capacity) - level, 0.0) / self.rate
        if wait > longest_seconds:
            raise RateLimited(self._unit, wait - longest_seconds)
        self._buckets[client] = (level - amount, now)
        return wait
