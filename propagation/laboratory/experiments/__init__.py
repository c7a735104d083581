"""Experiments: the papers' tables, run and compared."""

from propagation.laboratory.experiments.catalogue import EXPERIMENTS
from propagation.laboratory.experiments.comparison import MethodFigures, compare
from propagation.laboratory.experiments.experiment import Experiment
from propagation.laboratory.experiments.run import (
    Outcome,
    Part,
    RunPlan,
    open_run,
    plan_run,
    read_parts,
    read_plan,
    run_methods,
)

__all__ = [
    "EXPERIMENTS",
    "Experiment",
    "MethodFigures",
    "Outcome",
    "Part",
    "RunPlan",
    "compare",
    "open_run",
    "plan_run",
    "read_parts",
    "read_plan",
    "run_methods",
]
