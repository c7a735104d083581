"""Settings of an evaluation."""

from collections.abc import Sequence

from pydantic import Field

from propagation.model import Term


class EvaluationSettings(Term):
    """Settings of an evaluation.

    Args:
        seeds: One pass each; the median is reported.
        tau: Of the semantic arm; None is the .90 quantile.
        report_from: First event (0-based) of the reported slice; None is two fifths of the stream.
        every: Rank only one event in so many; all are learned.
    """

    seeds: Sequence[int] = Field((1, 2, 3), min_length=1)
    session_k: int = Field(80, ge=2, le=4096)
    taste_k: int = Field(80, ge=2, le=4096)
    tau: float | None = Field(None, ge=-1, le=1)
    report_from: int | None = Field(None, ge=0)
    every: int = Field(1, ge=1)
    plot_points: int = Field(20, ge=2, le=500)

    def first_reported(self, events: int) -> int:
        """Return the first event of the reported slice."""
        return min(events, 2 * events // 5 if self.report_from is None else self.report_from)
