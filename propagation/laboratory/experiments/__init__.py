"""Experiments: the papers' tables, run and compared."""

from propagation.laboratory.experiments.catalogue import EXPERIMENTS, Experiment
from propagation.laboratory.experiments.comparison import MethodFigures, compare
from propagation.laboratory.experiments.run import (
    Part,
    RunPlan,
    open_run,
    read_parts,
    read_plan,
    run_methods,
)

__all__ = [
    "EXPERIMENTS",
    "Experiment",
    "MethodFigures",
    "Part",
    "RunPlan",
    "compare",
    "open_run",
    "read_parts",
    "read_plan",
    "run_methods",
]
