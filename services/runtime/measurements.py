"""Counters, timings and failures of this process, for GetStatus and the metrics."""

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import Literal

import structlog

from propagation.model import PropagationError, ReasonerFailed

Counters = Counter[tuple[str, str]]
"""Counts that only grow, by (name, label).

The name is that of the metric, with its unit; the label tells apart things of one kind.
"""
log = structlog.get_logger()


@dataclass
class Timing:
    """Wall time of a call or step since this process started.

    Attributes:
        calls: Number of runs.
        seconds: Sum of their times, waits included.
        longest: Time of the longest run, in seconds.
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
"""The timing of each call or step, by its name."""


@dataclass
class Failures:
    """The steps and jobs that fail now, each with its reason.

    A failure stays in `reasons` until the step or job succeeds.

    Attributes:
        quoting: Names whose reason may quote users' texts, because a model's server repeats them.
    """

    counters: Counters = field(default_factory=Counters)
    reasons: dict[str, str] = field(default_factory=dict)
    quoting: set[str] = field(default_factory=set)

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
            The reason, as it may be stored. For an unexpected error it is only the error's type,
            because the text may hold user data; for a reasoner it is the `public_reason`.
        """
        self.counters[f"{kind}s_failed_total", name] += 1
        details[kind] = name
        if isinstance(error, PropagationError):
            reason = str(error)
            log.warning(f"{kind} failed", error=reason, **details)
        else:
            reason = f"{type(error).__name__}; see the log"
            log.error(f"{kind} failed unexpectedly", exc_info=error, **details)
        self.show(name, reason + suffix, may_quote=isinstance(error, ReasonerFailed))
        return error.public_reason if isinstance(error, ReasonerFailed) else reason

    def show(self, name: str, reason: str, *, may_quote: bool = False) -> None:
        """Show why a step or job fails.

        Args:
            may_quote: Whether the reason may quote users' texts.
        """
        self.reasons[name] = reason
        if may_quote:
            self.quoting.add(name)
        else:
            self.quoting.discard(name)

    def clear(self, name: str) -> None:
        """Forget the failure of a step or job that has succeeded."""
        self.reasons.pop(name, None)
