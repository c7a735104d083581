"""The circuit breaker: an endpoint that answers nobody is left alone for a while, then asked once."""

import time
from collections.abc import Callable

from propagation.model.errors import ReasonerUnavailable

FAILURES = 12
FIRST_SECONDS, LONGEST_SECONDS = 2.0, 60.0


class Breaker:
    """Opens after so many failures in a row, of whatever calls; each failed trial doubles the time it stays open."""

    def __init__(self, failures: int = FAILURES, clock: Callable[[], float] = time.monotonic) -> None:
        self._most = failures
        self._clock = clock
        self._failed = 0
        self._seconds = FIRST_SECONDS
        self._until = 0.0
        self._trying = False
        self._reason = ""

    @property
    def open(self) -> bool:
        return self._failed >= self._most

    def check(self) -> None:
        """Before a call. Raises ReasonerUnavailable while open; then lets one call try."""
        if not self.open:
            return
        left = self._until - self._clock()
        if left > 0 or self._trying:
            raise ReasonerUnavailable(f"the endpoint answered none of the last {self._failed} calls (the last: {self._reason}); "
                                      f"it is asked again in {max(left, 0):.0f} s")
        self._trying = True

    def answered(self) -> None:
        self._failed, self._seconds, self._trying = 0, FIRST_SECONDS, False

    def left(self) -> None:
        """A call ended without an answer or a failure: it was cancelled."""
        self._trying = False

    def failed(self, reason: str) -> None:
        self._failed += 1
        self._reason = reason
        if self.open:
            if self._trying:
                self._seconds = min(2 * self._seconds, LONGEST_SECONDS)
            self._until = self._clock() + self._seconds
        self._trying = False
