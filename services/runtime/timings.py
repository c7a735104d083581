"""What the service spends its time on: calls and steps, how many and how long."""

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass


@dataclass
class Part:
    """Since this process started: how often, seconds in all, the longest."""

    calls: int = 0
    seconds: float = 0.0
    longest: float = 0.0


class Timings:
    """By name of the part. Wall time: what a part waited for is in it."""

    def __init__(self) -> None:
        self._parts: dict[str, Part] = {}

    def add(self, name: str, seconds: float) -> None:
        part = self._parts.setdefault(name, Part())
        part.calls += 1
        part.seconds += seconds
        part.longest = max(part.longest, seconds)

    @contextmanager
    def timed(self, name: str) -> Iterator[None]:
        """Around one call or step; a failed one counts too."""
        begun = time.monotonic()
        try:
            yield
        finally:
            self.add(name, time.monotonic() - begun)

    @property
    def parts(self) -> Mapping[str, Part]:
        return self._parts
