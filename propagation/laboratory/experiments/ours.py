"""Experiments of this project, which are in none of the papers."""

from propagation.laboratory.experiments.experiment import Experiment
from propagation.laboratory.experiments.recnet import ITEMS, LIGHT_BASELINES, RECNET, USERS
from propagation.laboratory.prequential import Prequential

NUMBERS = ("recnet-numbers", "recnet-no-propagation")
"""RecNet without texts; `propagation evaluate` has the same figures of these."""
EXPERIMENTS = (
    Experiment(
        "ours/prequential",
        "each event is predicted at its moment, then learned",
        "this project; docs/numbers.md has the protocol",
        Prequential(),
        ("behind", "invalid", "n10_of_100", "n1", "n5", "n10"),
        ("random", "pop", *LIGHT_BASELINES, "llmrank", *RECNET, *NUMBERS),
        slices=(*USERS, *ITEMS),
        notes=(
            "Means are over targets. Differences are means over users of each user's mean"
            " difference, as in `propagation evaluate`; so they need not be differences of the"
            " means.",
            "`recnet-numbers` and `recnet-no-propagation` are `evaluate`'s arms `offk_adoption` and"
            " `offk`. If no two events have the same time, their figures are the same, seed by"
            " seed; else the order of equal times differs.",
        ),
    ),
)
