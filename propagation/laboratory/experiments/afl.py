"""AFL's tables and figures."""

from propagation.laboratory.experiments.experiment import Experiment

EXPERIMENTS = (
    Experiment("afl/table4", "one item of twenty", "AFL, Table 4"),
    Experiment("afl/table5", "user simulation", "AFL, Table 5"),
)
