"""Rate and size limits a client, so that one caller cannot take the service from the others."""

import time
from collections import OrderedDict

from propagation.model.errors import PropagationError
from services.config.settings import LimitSettings

CLIENTS_KEPT = 10_000
BURST_SECONDS = 2.0
"""What was not used is saved for so long."""


class TooMuch(PropagationError):
    """A client asks for more than its share; it may ask again after `retry_seconds`."""

    def __init__(self, what: str, retry_seconds: float) -> None:
        super().__init__(
            f"more {what} than the service gives one client; ask again in {retry_seconds:.1f} s"
        )
        self.retry_seconds = round(retry_seconds, 3)


class Allowance:
    """A token bucket for each client: `rate` a second, and what was saved in two seconds at once."""

    def __init__(self, rate: float) -> None:
        self._rate = rate
        self._full = rate * BURST_SECONDS
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, client: str, amount: float) -> float:
        """Seconds until so much is there; 0: it was taken. More than can ever be saved is given
        from a full bucket, and paid back before anything else is."""
        now = time.monotonic()
        left, at = self._left.get(client, (self._full, now))
        left = min(left + (now - at) * self._rate, self._full)
        missing = min(amount, self._full) - left
        if missing <= 0:
            left -= amount
        self._left[client] = (left, now)
        self._left.move_to_end(client)
        if len(self._left) > CLIENTS_KEPT:
            self._left.popitem(last=False)
        return max(missing, 0.0) / self._rate


class Limits:
    """Calls and bytes a second; what is not set is not limited, and costs nothing."""

    def __init__(self, settings: LimitSettings) -> None:
        self._calls = Allowance(settings.calls_per_second) if settings.calls_per_second else None
        self._bytes = Allowance(settings.bytes_per_second) if settings.bytes_per_second else None

    @property
    def weighs(self) -> bool:
        """Whether sizes matter."""
        return self._bytes is not None

    def call(self, client: str) -> None:
        """Raises TooMuch."""
        if self._calls is not None and (wait := self._calls.take(client, 1)):
            raise TooMuch("calls a second", wait)

    def message(self, client: str, size: int) -> None:
        """Raises TooMuch."""
        if wait := self.pause(client, size):
            raise TooMuch("bytes a second", wait)

    def pause(self, client: str, size: int) -> float:
        """Seconds until a message of this size is taken; 0: it was."""
        return self._bytes.take(client, size) if self._bytes is not None else 0.0
