"""Pauses between rounds that only ask again about postponed routers.

A small model may refuse or fail the same routers for ever, and each attempt takes its slots from
interactions.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass

LONGEST_PAUSE_SECONDS = 3_600.0


@dataclass
class PostponedRetries:
    """Doubles the pause after each attempt that leaves routers postponed.

    Args:
        seconds: The first pause.
    """

    seconds: float
    clock: Callable[[], float] = time.monotonic
    _pause: float = 0.0
    _due: float = 0.0

    def are_due(self) -> bool:
        """Tell whether a round may ask about postponed routers alone."""
        return self.clock() >= self._due

    def note(self, *, postponed: bool) -> None:
        """Note a round that had nothing else to do.

        Args:
            postponed: Whether it left routers postponed again.
        """
        longer = min(2 * self._pause, LONGEST_PAUSE_SECONDS) or self.seconds
        self._pause = longer if postponed else 0.0
        self._due = self.clock() + self._pause
