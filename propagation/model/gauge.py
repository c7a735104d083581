"""The live gauge: what propagation is worth on the running stream."""

from collections.abc import Sequence

from propagation.model.base import Term


class GaugePoint(Term):
    """Mean N@10 of a stretch of the stream.

    Attributes:
        through: Number of ranked interactions at its end.
        interactions: Its length.
    """

    through: int
    interactions: int
    with_propagation: float
    without: float


class Gauge(Term):
    """N@10 of each learned interaction's item among itself and its negatives.

    There are at most five negatives.

    Each is ranked before anything is learned from it, by the combiner with propagation and by the
    one without (kNN stays). Means of the recent stream: an interaction counts half after 5,000.

    Attributes:
        interactions: All that were ranked.
        standard_error: Of the difference, as if interactions were independent; None below two.
        course: The whole stream, in at most 64 stretches.
    """

    interactions: int
    with_propagation: float
    without: float
    standard_error: float | None
    course: Sequence[GaugePoint]
