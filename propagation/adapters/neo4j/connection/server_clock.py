"""Whose clock the store goes by."""

from propagation.ports.clock import Clock


class Time:
    """The server's own, so that machines whose clocks differ share one; another one where it is
    given (tests turn it)."""

    def __init__(self, clock: Clock | None) -> None:
        self._clock = clock

    def now(self) -> int | None:
        """The statements' parameter `now`, in milliseconds: None asks the server."""
        return None if self._clock is None else self._clock.now_ms()
