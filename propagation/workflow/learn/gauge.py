"""The live gauge as an answer: ranking with and without propagation."""

import numpy as np

from propagation.model import Gauge, GaugePoint
from propagation.workflow.views import OFF, ON, NumbersView

LEAST = 2


def read_gauge(view: NumbersView) -> Gauge | None:
    """Read the gauge; None before the first interaction with a negative.

    Run it on the thread that owns the view.
    """
    sums = view.combiner.gauge
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
        standard_error=float(np.sqrt(spread * squares) / weight) if ranked >= LEAST else None,
    )
