"""Compares methods on the same targets: means, and differences by user."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from propagation.arrays import F64
from propagation.evaluation.protocols.metrics import Paired, pair_up
from propagation.grouping import group_pairs
from propagation.laboratory.experiments.run import Part


@dataclass(frozen=True)
class MethodFigures:
    """One method's row of a table.

    Attributes:
        means: Mean over targets and seeds, by measure.
        against: The difference to the reference in the last measure, paired by user; None for the
            reference itself.
    """

    method: str
    seeds: int
    targets: int
    means: Mapping[str, float]
    against: Paired | None


def compare(parts: Sequence[Part], measures: Sequence[str], reference: str) -> list[MethodFigures]:
    """Compare methods by the means of their seeds.

    Args:
        reference: The method to which the others are compared; if it has no results, nothing is
            compared.
    """
    by_method = group_pairs((part.method, part) for part in parts)
    last = measures[-1]
    base = _average(by_method[reference], last) if reference in by_method else None
    return [
        MethodFigures(
            method,
            len(some),
            len(some[0].user),
            {name: float(_average(some, name).mean()) for name in measures},
            None
            if base is None or method == reference
            else pair_up(_average(some, last), base, np.arange(len(base))),
        )
        for method, some in by_method.items()
    ]


def _average(parts: Sequence[Part], measure: str) -> F64:
    """Return the mean over seeds of each target, [T]."""
    values: F64 = np.mean([part.values[measure] for part in parts], axis=0)
    return values
