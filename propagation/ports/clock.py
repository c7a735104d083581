"""The clock, as a port, so that tests can set it."""

from typing import Protocol


class Clock(Protocol):
    """Source of the current time."""

    def now_ms(self) -> int:
        """Return milliseconds since 1970.

        The time may jump either way, and nothing is ordered by it.
        """
