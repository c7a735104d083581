"""The live gauge: the positive item's rank, with and without propagation.

Each learned interaction is ranked by every arm before that arm learns it. The gauge is learned
state: it is committed, followed and checkpointed with the combiner, and a replay gives the same
bits.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from propagation.numbers.kernels import inner_kernel, kernel

HALF_LIFE = 5_000.0
FADE = 0.5 ** (1.0 / HALF_LIFE)
POINTS = 64
FIRST_SPAN = 128.0


class GaugeSums(NamedTuple):
    """Running comparison of A arms with the first one.

    Args:
        recent: [A,2] sums of the gain (N@10 of the positive among at most five) and of its squared
            difference from arm 0, with a half-life of 5,000 interactions.
        weight: [2] sums of the weights of these and of their squares.
        course: [64,1+A] the whole stream in equal spans: interactions, sums of gains. When it is
            full, two spans become one.
        span: [2] interactions in a span, and the number of full spans.
    """

    recent: NDArray[np.float64]
    weight: NDArray[np.float64]
    course: NDArray[np.float64]
    span: NDArray[np.float64]


def create_gauge(arms: int) -> GaugeSums:
    """Make an empty gauge."""
    return GaugeSums(
        np.zeros((arms, 2)), np.zeros(2), np.zeros((POINTS, 1 + arms)), np.array([FIRST_SPAN, 0.0])
    )


@kernel
def compute_gain(above, ties):
    """Return N@10 with `above` scores higher and `ties` equal.

    Tied places are shared.
    """
    total = 0.0
    for place in range(above, above + ties + 1):
        total += 1.0 / np.log2(2.0 + place)
    return total / (ties + 1)


@kernel
def note_gains(gauge, gains):
    """Add the gains [A] of one interaction."""
    course, span = gauge.course, gauge.span
    gauge.weight[0] = FADE * gauge.weight[0] + 1.0
    gauge.weight[1] = FADE * FADE * gauge.weight[1] + 1.0
    place = np.int64(span[1])
    course[place, 0] += 1.0
    for arm in range(len(gains)):
        difference = gains[0] - gains[arm]
        gauge.recent[arm, 0] = FADE * gauge.recent[arm, 0] + gains[arm]
        gauge.recent[arm, 1] = FADE * gauge.recent[arm, 1] + difference * difference
        course[place, 1 + arm] += gains[arm]
    if course[place, 0] >= span[0]:
        span[1] += 1.0
        if span[1] == POINTS:
            _halve(course, span)


@inner_kernel
def _halve(course, span):
    for place in range(POINTS // 2):
        course[place] = course[2 * place] + course[2 * place + 1]
    course[POINTS // 2 :] = 0.0
    span[0] *= 2.0
    span[1] = POINTS // 2
