"""The clock, as a port, so that tests can turn it back."""

from typing import Protocol


class Clock(Protocol):
    def now_ms(self) -> int:
        """Milliseconds since 1970. May jump; nothing orders by it."""
