"""Rate and size limits for each client, so that one caller cannot use up the service."""

import time

from cachetools import LRUCache

from propagation.model.errors import PropagationError
from services.config.settings import LimitSettings

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
    """A token bucket for each client, of two seconds' allowance. Rate None limits nothing."""

    def __init__(self, rate: float | None) -> None:
        self.rate = rate
        self._buckets: LRUCache[str, tuple[float, float]] = LRUCache(CLIENTS)

    def take(self, client: str, amount: float) -> float:
        """Take an amount from the client's bucket, or report the wait until it is available.

        A full bucket also gives more than it holds; it then has to fill up from below zero.

        Returns:
            Seconds to wait, with nothing taken; 0 if the amount was taken.
        """
        if self.rate is None:
            return 0.0
        now, capacity = time.monotonic(), self.rate * BURST_SECONDS
        level, at = self._buckets.get(client, (capacity, now))
        level = min(level + (now - at) * self.rate, capacity)
        missing = min(amount, capacity) - level
        self._buckets[client] = (level if missing > 0 else level - amount, now)
        return max(missing, 0.0) / self.rate


class RateLimits:
    """The configured limits of calls and of bytes a second."""

    def __init__(self, settings: LimitSettings) -> None:
        self._calls = TokenBuckets(settings.calls_per_second)
        self._bytes = TokenBuckets(settings.bytes_per_second)

    @property
    def limits_bytes(self) -> bool:
        """Whether the sizes of messages are limited."""
        return self._bytes.rate is not None

    def take_call(self, client: str) -> None:
        """Count one call. Raises RateLimited."""
        if wait := self._calls.take(client, 1):
            raise RateLimited("calls", wait)

    def take_message(self, client: str, size: int) -> None:
        """Count a message's bytes. Raises RateLimited."""
        if wait := self._bytes.take(client, size):
            raise RateLimited("bytes", wait)

    def message_wait(self, client: str, size: int) -> float:
        """Count a message's bytes, or return the seconds to wait before the next attempt."""
        return self._bytes.take(client, size)
