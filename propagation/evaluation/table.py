"""The table of a report: headers and rows of text; who prints it decides how."""

from propagation.evaluation.metrics import Paired
from propagation.evaluation.report import Report

LABELS = {
    "off": "propagation off", "placebo": "placebo routing", "adoption": "adoption routing", "offk": "off, with item-kNN",
    "offk_adoption": "adoption, with item-kNN (live)", "semantic": "semantic routing", "point_to_point": "point-to-point",
    "popularity": "popularity alone", "minus_popularity": "minus popularity (probe)"}
HEADERS = ("arm", "N@10", "HR@1", "N@10 matched", "against off", "t", "against off with kNN", "t")


def rows(report: Report) -> list[tuple[str, ...]]:
    """One row an arm, in the order of LABELS, under HEADERS."""
    return [(label, _level(arm.n10), _level(arm.hr1), _level(arm.n10_matched), *_difference(arm.against_off),
             *_difference(arm.against_offk)) for name, label in LABELS.items() for arm in (report.arm(name),)]


def _level(value: float | None) -> str:
    return "-" if value is None else f"{value:.4f}"


def _difference(pair: Paired | None) -> tuple[str, str]:
    if pair is None:
        return "", ""
    return f"{pair.mean:+.4f}", "-" if pair.t is None else f"{pair.t:.1f}"
