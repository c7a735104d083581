"""Runs of experiments: their folders, comparisons and reports."""

from propagation.laboratory.runs.comparison import MethodFigures, compare, find_reference
from propagation.laboratory.runs.parts import (
    Part,
    drop_stale,
    list_older,
    read_known,
    read_parts,
)
from propagation.laboratory.runs.plan import (
    RunPlan,
    explain_unwritable,
    open_run,
    plan_run,
    read_plan,
)
from propagation.laboratory.runs.report import RunReport, build_report, list_remarks
from propagation.laboratory.runs.run import Outcome, join_outcomes, run_methods
from propagation.laboratory.runs.target_results import collect_results

__all__ = [
    "MethodFigures",
    "Outcome",
    "Part",
    "RunPlan",
    "RunReport",
    "build_report",
    "collect_results",
    "compare",
    "drop_stale",
    "explain_unwritable",
    "find_reference",
    "join_outcomes",
    "list_older",
    "list_remarks",
    "open_run",
    "plan_run",
    "read_known",
    "read_parts",
    "read_plan",
    "run_methods",
]
