"""The live gauge: what propagation is worth on the running stream."""

from collections.abc import Sequence

from propagation.model.base import Term


class GaugePoint(Term):
    """Means of N@10 over a stretch of `interactions` of the stream that ends after `through` ranked
    ones."""

    through: int
    interactions: int
    with_propagation: float
    without: float


class Gauge(Term):
    """N@10 of each learned interaction's item among itself and its recorded negatives (at most
    five), ranked before anything was learned from it, by the combiner with propagation and by the
    one without (kNN stays): means of the recent stream, an interaction counting half after 5,000.
    `standard_error` is of the difference, as if interactions were independent; None below two.
    `interactions`: all that were ranked. `course`: the whole stream, in at most 64 stretches."""

    interactions: int
    with_propagation: float
    without: float
    standard_error: float | None
    course: Sequence[GaugePoint]

    @property
    def difference(self) -> float:
        return self.with_propagation - self.without
