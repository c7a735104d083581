"""Counters, timings and failures of this process, for GetStatus and the metrics."""

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import Literal

import structlog

from propagation.model import PropagationError

Counters = Counter[tuple[str, str]]
"""Counts that only grow, by (name, label).

A name is that of the metric, with its unit; the label tells apart things of one kind.
"""
log = structlog.get_logger()


@dataclass
class Timing:
    """Wall time of a call or step in seconds, waiting included.

    It counts since this process started.
    """

    calls: int = 0
    seconds: float = 0.0
    longest: float = 0.0

    def add(self, seconds: float) -> None:
        """Count one run."""
        self.calls += 1
        self.seconds += seconds
        self.longest = max(self.longest, seconds)


Timings = defaultdict[str, Timing]
"""By the name of a call or step."""


@dataclass
class Failures:
    """The steps and jobs that fail now, each with its reason.

    A failure stays in `reasons` until the step or job succeeds.
    """

    counters: Counters = field(default_factory=Counters)
    reasons: dict[str, str] = field(default_factory=dict)

    def record(
        self,
        kind: Literal["step", "job"],
        name: str,
        error: Exception,
        suffix: str = "",
        **details: object,
    ) -> str:
        """Log, count and show a failure of a step or job.

        Args:
            suffix: Added to the reason that is shown, e.g. the time of the next attempt.
            details: Further fields of the log line.

        Returns:
            The reason. That of an unexpected error is its type alone; its text may hold user data.
        """
        self.counters[f"{kind}s_failed_total", name] += 1
        details[kind] = name
        if isinstance(error, PropagationError):
            reason = str(error)
            log.warning(f"{kind} failed", error=reason, **details)
        else:
            reason = f"{type(error).__name__}; see the log"
            log.error(f"{kind} failed unexpectedly", exc_info=error, **details)
        self.reasons[name] = reason + suffix
        return reason

    def clear(self, name: str) -> None:
        """Forget the failure of a step or job that has succeeded."""
        self.reasons.pop(name, None)
