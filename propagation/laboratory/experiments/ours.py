"""Experiments of this project, which are in none of the papers."""

from propagation.laboratory.experiments.experiment import Experiment

EXPERIMENTS = (
    # A user has many targets here, and `comparison` pairs rows as if each had one.
    Experiment(
        "ours/prequential",
        "each event is predicted, then learned",
        "this project; of RecNet's numbers: `propagation evaluate --protocol prequential`",
    ),
)
