"""The live gauge: what propagation is worth on the running stream."""

from collections.abc import Sequence

from propagation.model.base import Term


class GaugePoint(Term):
    """Mean N@10 of a stretch of the stream.

    Attributes:
        through: How many interactions were ranked up to the end of the stretch.
        interactions: How many interactions the stretch has.
    """

    through: int
    interactions: int
    with_propagation: float
    without: float


class Gauge(Term):
    """Mean N@10 of learned interactions, with propagation and without.

    Each interaction's item is ranked among itself and its negatives (at most four) before anything
    is learned from the interaction: by the combiner with propagation, and by the one without (kNN
    stays). The means are of the recent stream: 5,000 interactions later, an interaction counts
    half.

    Attributes:
        interactions: How many interactions were ranked in all.
        standard_error: Of the difference of the means, as if interactions were independent; None
            below two interactions.
        course: The whole stream, in at most 64 stretches.
    """

    interactions: int
    with_propagation: float
    without: float
    standard_error: float | None
    course: Sequence[GaugePoint]
