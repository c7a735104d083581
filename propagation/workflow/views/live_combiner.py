"""The live combiner: its arms with and without propagation, and the gauge that compares them."""

import numpy as np

from propagation.model import Gauge, GaugePoint
from propagation.numbers.rules import (
    FEATURES,
    PROPAGATED,
    START_WEIGHT,
    Combiner,
    Feature,
    create_combiner,
)

ON, OFF = 0, 1


def create_live_combiner(arms: int = 2) -> Combiner:
    """Create the combiner of arms over the same features.

    The first one is with propagation, the second without; further ones are like the first.
    """
    mask = np.ones((arms, FEATURES))
    mask[OFF, list(PROPAGATED)] = 0
    start = np.full(FEATURES, START_WEIGHT)
    start[Feature.PROFILE] = 0
    return create_combiner(mask, start)


def read_gauge(combiner: Combiner) -> Gauge | None:
    """Read the live gauge: the ranking with and without propagation.

    Returns:
        None before the first interaction with a negative.
    """
    sums = combiner.gauge
    counts = sums.course[:, 0]
    through = np.cumsum(counts)
    course = [
        GaugePoint(
            through=int(through[place]),
            interactions=int(counts[place]),
            with_propagation=float(sums.course[place, 1 + ON] / counts[place]),
            without=float(sums.course[place, 1 + OFF] / counts[place]),
        )
        for place in np.flatnonzero(counts)
    ]
    if not course:
        return None
    weight, squares = sums.weight.tolist()
    on, off = (float(sums.recent[arm, 0]) / weight for arm in (ON, OFF))
    spread = max(float(sums.recent[OFF, 1]) / weight - (on - off) ** 2, 0.0)
    ranked = course[-1].through
    return Gauge(
        interactions=ranked,
        with_propagation=on,
        without=off,
        course=course,
        # One interaction has no spread.
        standard_error=float(np.sqrt(spread * squares) / weight) if ranked > 1 else None,
    )
