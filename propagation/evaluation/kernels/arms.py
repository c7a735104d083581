"""The arms of an evaluation: the features that each one sees.

All arms learn side by side in one pass over the stream.
"""

from enum import IntEnum

import numpy as np

from propagation.numbers.rules import FEATURES, START_WEIGHT, Combiner, Feature, new_combiner


class Control(IntEnum):
    """Columns of the controls, behind the live features."""

    PLACEBO_SESSION = FEATURES
    PLACEBO_TASTE = FEATURES + 1
    SEMANTIC = FEATURES + 2
    POINT_TO_POINT = FEATURES + 3


COLUMNS = FEATURES + len(Control)
BASE = (Feature.POPULARITY, Feature.RECENT, Feature.CONTENT, Feature.ATTRIBUTES, Feature.ADOPTERS)
KNN = (Feature.KNN_SLOW, Feature.KNN_FAST)
LIFTS = (Feature.LIFT_SESSION, Feature.LIFT_TASTE)

ARMS: dict[str, tuple[IntEnum, ...]] = {
    "offk_adoption": (*BASE, *KNN, *LIFTS),
    "off": BASE,
    "placebo": (*BASE, Control.PLACEBO_SESSION, Control.PLACEBO_TASTE),
    "adoption": (*BASE, *LIFTS),
    "offk": (*BASE, *KNN),
    "semantic": (*BASE, Control.SEMANTIC),
    "point_to_point": (*BASE, Control.POINT_TO_POINT),
}
PROBES = ("popularity", "minus_popularity")
RANKINGS = (*ARMS, *PROBES)


def evaluation_combiner() -> Combiner:
    """Make one combiner that learns every arm; columns [COLUMNS]."""
    mask = np.zeros((len(ARMS), COLUMNS))
    for row, columns in enumerate(ARMS.values()):
        mask[row, list(columns)] = 1
    return new_combiner(mask, np.full(COLUMNS, START_WEIGHT))
