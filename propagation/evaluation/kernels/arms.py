"""The arms of an evaluation, with their features and expected figures.

All arms learn side by side in one pass over the stream.
"""

from collections.abc import Mapping, Sequence
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from propagation.numbers.kernels import inner_kernel, kernel
from propagation.numbers.rules import (
    FEATURES,
    LEAST_DEVIATIONS,
    LEAST_LIFT_DEVIATION,
    Combiner,
    Feature,
    create_combiner,
)

DRAWN, DRAWN_MANY = 9, 99
CUTOFF = 10
MANY_TIES = 500
DISCOUNTS = np.log2(np.arange(2.0, 2.0 + CUTOFF))


def log_factorials(largest: int) -> NDArray[np.float64]:
    """Return ln 0! to ln largest!."""
    return np.concatenate(
        [np.zeros(1), np.cumsum(np.log(np.arange(1, largest + 1, dtype=np.float64)))]
    )


@inner_kernel
def _log_choose(logs, n, k):
    return logs[n] - logs[k] - logs[n - k]


@inner_kernel
def _compute_chance(logs, above, others, beaten, drawn):
    """Return the chance to draw exactly `beaten` of the `above` among `others`."""
    return np.exp(
        _log_choose(logs, above, beaten)
        + _log_choose(logs, others - above, drawn - beaten)
        - _log_choose(logs, others, drawn)
    )


@inner_kernel
def _compute_chance_of_most(logs, above, others, beaten, drawn):
    """Return the chance to draw at most `beaten` of the `above`.

    They are drawn among `others`.
    """
    chance = 0.0
    for exactly in range(max(0, drawn - (others - above)), min(drawn, above, beaten) + 1):
        chance += _compute_chance(logs, above, others, exactly, drawn)
    return chance


@kernel
def compute_expected(above, ties, others, draws, logs):
    """Return a target's expected figures over all draws of negatives.

    With few ties every place that the target may have is summed. With many, one more candidate is
    drawn, d + 1 of N + 1: sum_h C(h,b) C(N-h,d-b) over places h from x to y counts the draws of
    which at most b lie before x, but not at most b before y + 1. With few ties this difference
    would lose digits.

    Args:
        above: Candidates with a higher score than the target.
        ties: Candidates with an equal score; either order has the same chance.
        others: All candidates but the target.
        draws: Negatives drawn without replacement (all, if there are fewer).
        logs: Logarithms of factorials, to those of `others` + 1.

    Returns:
        (N@10, HR@1).
    """
    drawn = min(draws, others)
    gain, hit = 0.0, 0.0
    if ties > MANY_TIES:
        each = (others + 1) / (drawn + 1)
        for beaten in range(min(drawn + 1, CUTOFF)):
            chance = each * (
                _compute_chance_of_most(logs, above, others + 1, beaten, drawn + 1)
                - _compute_chance_of_most(logs, above + ties + 1, others + 1, beaten, drawn + 1)
            )
            gain += chance / DISCOUNTS[beaten]
            if beaten == 0:
                hit = chance
        return gain / (ties + 1), hit / (ties + 1)
    for higher in range(above, above + ties + 1):
        for beaten in range(max(0, drawn - (others - higher)), min(drawn, higher, CUTOFF - 1) + 1):
            chance = _compute_chance(logs, higher, others, beaten, drawn)
            gain += chance / DISCOUNTS[beaten]
            if beaten == 0:
                hit += chance
    return gain / (ties + 1), hit / (ties + 1)


class Control(IntEnum):
    """Columns of the controls, behind the live features."""

    PLACEBO_SESSION = FEATURES
    PLACEBO_TASTE = FEATURES + 1
    SEMANTIC = FEATURES + 2
    POINT_TO_POINT = FEATURES + 3


COLUMNS = FEATURES + len(Control)
BASE = (Feature.POPULARITY, Feature.RECENT, Feature.CONTENT, Feature.ATTRIBUTES, Feature.ADOPTERS)
KNN = (Feature.KNN_SLOW, Feature.KNN_FAST)
FACTORS = (Feature.HISTORY, Feature.TASTE)
LIFTS = (Feature.LIFT_SESSION, Feature.LIFT_TASTE)

Arms = Mapping[str, Sequence[IntEnum]]
ARMS: Arms = {
    "offk_adoption": (*BASE, *KNN, *FACTORS, *LIFTS),
    "off": BASE,
    "placebo": (*BASE, Control.PLACEBO_SESSION, Control.PLACEBO_TASTE),
    "adoption": (*BASE, *LIFTS),
    "offk": (*BASE, *KNN, *FACTORS),
    "knn": (*BASE, *KNN),
    "semantic": (*BASE, Control.SEMANTIC),
    "point_to_point": (*BASE, Control.POINT_TO_POINT),
}
LIVE = "offk_adoption"
PROBES = ("popularity", "minus_popularity")
RANKINGS = (*ARMS, *PROBES)


def create_evaluation_combiner(arms: Arms = ARMS) -> Combiner:
    """Make one combiner that learns every arm; columns [COLUMNS]."""
    mask = np.zeros((len(arms), COLUMNS))
    for row, columns in enumerate(arms.values()):
        mask[row, list(columns)] = 1
    lifts = (Control.PLACEBO_SESSION, Control.PLACEBO_TASTE, Control.SEMANTIC)
    least = {**LEAST_DEVIATIONS, **dict.fromkeys(map(int, lifts), LEAST_LIFT_DEVIATION)}
    return create_combiner(mask, least)
