"""A circuit breaker: an endpoint that answers nothing is left alone, then tried once."""

import asyncio
import time
from collections.abc import Callable

from propagation.model import EndpointUnavailable

FAILURES = 12
FIRST_SECONDS, LONGEST_SECONDS = 2.0, 5.0


class CircuitBreaker:
    """Opens after FAILURES failures in a row, of whatever calls.

    Each failed trial doubles the time that it stays open, up to LONGEST_SECONDS: one call in that
    time costs a server nothing, and work goes on soon after it is back.
    """

    def __init__(
        self, failures: int = FAILURES, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._most = failures
        self._clock = clock
        self._failed = 0
        self._seconds = FIRST_SECONDS
        self._until = 0.0
        self._trial: asyncio.Event | None = None
        self._reason = ""

    @property
    def open(self) -> bool:
        return self._failed >= self._most

    async def admit(self) -> bool:
        """Admit a call; while a trial is under way, wait for its end.

        Returns:
            Whether the call is the trial.

        Raises:
            EndpointUnavailable: The breaker is open.
        """
        while self.open:
            left = self._until - self._clock()
            if left > 0:
                raise EndpointUnavailable(
                    f"the endpoint answered none of the last {self._failed} calls"
                    f" (the last: {self._reason}); it is asked again in {left:.0f} s"
                )
            if self._trial is None:
                self._trial = asyncio.Event()
                return True
            await self._trial.wait()
        return False

    def record_answer(self) -> None:
        """Close the breaker."""
        self._failed, self._seconds = 0, FIRST_SECONDS
        if self._trial is not None:  # a call of before it was open was answered after all
            self._trial.set()
            self._trial = asyncio.Event()

    def release(self, *, trial: bool) -> None:
        """End an admitted call, whatever came of it.

        `record_answer` or `record_failure` follows if that says something about the endpoint.
        """
        if trial and self._trial is not None:
            self._trial.set()
            self._trial = None

    def record_failure(self, reason: str, *, trial: bool) -> None:
        """Count a failure; open the breaker at the limit."""
        self._failed += 1
        self._reason = reason
        if self.open:
            if trial:
                self._seconds = min(2 * self._seconds, LONGEST_SECONDS)
            self._until = self._clock() + self._seconds
