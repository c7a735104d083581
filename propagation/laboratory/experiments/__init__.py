"""Experiments: the papers' tables, run and compared."""

from propagation.laboratory.experiments.catalogue import EXPERIMENTS
from propagation.laboratory.experiments.comparison import (
    MethodFigures,
    compare,
    find_reference,
)
from propagation.laboratory.experiments.experiment import Experiment
from propagation.laboratory.experiments.report import RunReport, build_report, list_remarks
from propagation.laboratory.experiments.run import (
    Known,
    Outcome,
    Part,
    RunPlan,
    join_outcomes,
    open_run,
    plan_run,
    read_known,
    read_parts,
    read_plan,
    run_methods,
)
from propagation.laboratory.experiments.target_results import collect_results

__all__ = [
    "EXPERIMENTS",
    "Experiment",
    "Known",
    "MethodFigures",
    "Outcome",
    "Part",
    "RunPlan",
    "RunReport",
    "build_report",
    "collect_results",
    "compare",
    "find_reference",
    "join_outcomes",
    "list_remarks",
    "open_run",
    "plan_run",
    "read_known",
    "read_parts",
    "read_plan",
    "run_methods",
]
