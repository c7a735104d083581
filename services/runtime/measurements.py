"""Counters and timings of this process, for GetStatus and the metrics."""

import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass


class Counters:
    """Counts that only grow, by (name, label).

    A name is that of the metric, with its unit; the label tells apart things of one kind.
    """

    def __init__(self) -> None:
        self._counts: Counter[tuple[str, str]] = Counter()

    def add(self, name: str, label: str = "", by: int = 1) -> None:
        """Add to one count."""
        self._counts[name, label] += by

    def begin(self, name: str, *labels: str) -> None:
        """Start counts at zero, so that their first increase is visible to a reader."""
        for label in labels:
            self.add(name, label, 0)

    def snapshot(self) -> Mapping[tuple[str, str], int]:
        """Copy all counts."""
        return dict(self._counts)


@dataclass
class Timing:
    """One call or step since this process started: times in seconds."""

    calls: int = 0
    seconds: float = 0.0
    longest: float = 0.0


class Timings:
    """Wall time by the name of a call or step, waiting included."""

    def __init__(self) -> None:
        self._parts: dict[str, Timing] = {}

    def add(self, name: str, seconds: float) -> None:
        """Add one call or step."""
        part = self._parts.setdefault(name, Timing())
        part.calls += 1
        part.seconds += seconds
        part.longest = max(part.longest, seconds)

    @contextmanager
    def timed(self, name: str) -> Iterator[None]:
        """Time the body, also when it fails."""
        start = time.monotonic()
        try:
            yield
        finally:
            self.add(name, time.monotonic() - start)

    @property
    def parts(self) -> Mapping[str, Timing]:
        """Return the timings by name."""
        return self._parts
