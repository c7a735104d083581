"""Compares methods on the same targets: means, and differences by user."""

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from propagation.arrays import F64
from propagation.evaluation.protocols.metrics import (
    Paired,
    compute_clustered_error,
    compute_mean,
    pair_up,
)
from propagation.grouping import group_pairs
from propagation.laboratory.experiments.experiment import Experiment
from propagation.laboratory.history import Known
from propagation.laboratory.runs.parts import MADE_AGAIN, TARGETS, Part
from propagation.model import PropagationError, pluralize


class MethodFigures(NamedTuple):
    """One method's row of a table.

    Attributes:
        targets: How many targets could be ranked.
        means: Mean over targets and seeds, by measure; None if nothing could be ranked.
        errors: Standard errors of the means, by measure, with users as clusters; None with fewer
            than two.
        against: The difference to the reference in the last measure, as the mean over users of
            each user's mean; None for the reference itself.
    """

    method: str
    seeds: int
    targets: int
    means: Mapping[str, float | None]
    against: Paired | None
    errors: Mapping[str, float | None] = {}


def compare(parts: Sequence[Part], measures: Sequence[str], reference: str) -> list[MethodFigures]:
    """Compare methods by the means of their seeds.

    Args:
        reference: The method to which the others are compared; if it has no results, nothing is
            compared.

    Raises:
        PropagationError: As `check_comparable`.
    """
    check_comparable(parts, measures)
    by_method = group_pairs((part.method, part) for part in parts)
    last = measures[-1]
    base = _average(by_method[reference], last) if reference in by_method else None
    users = parts[0].number_users() if parts else np.empty(0, np.int64)
    return [
        MethodFigures(
            method,
            len(some),
            int((~np.isnan(_average(some, last))).sum()),
            {name: compute_mean(_average(some, name)) for name in measures},
            None
            if base is None or method == reference
            else pair_up(_average(some, last), base, users),
            {name: compute_clustered_error(_average(some, name), users) for name in measures},
        )
        for method, some in by_method.items()
    ]


def check_comparable(
    parts: Sequence[Part], measures: Collection[str], known: Known | None = None
) -> None:
    """Check that parts have the same targets, and these measures.

    Args:
        known: Of the run's targets, if it is to be used with the parts.

    Raises:
        PropagationError: They have not, or `known` is of another number of targets.
    """
    for part in parts:
        if part.target != parts[0].target or not set(measures) <= part.values.keys():
            raise PropagationError(
                f"the results of {part.method}, seed {part.seed}, have other targets or measures"
                f" than those of {parts[0].method}: {part.path} cannot be used; {MADE_AGAIN}"
            )
    if known is not None and parts and len(known.history) != len(parts[0].target):
        raise PropagationError(
            f"{parts[0].path.with_name(TARGETS)} cannot be used (it has"
            f" {pluralize(len(known.history), 'target')}, and the results have"
            f" {len(parts[0].target):,}); {MADE_AGAIN}"
        )


def find_reference(experiment: Experiment, parts: Sequence[Part]) -> str:
    """Return the method to which the others are compared.

    If there is a row for each model, it is the first model's.
    """
    reference = experiment.reference
    names = [part.method for part in parts]
    of_models = [name for name in names if name.startswith(f"{reference}@")]
    return reference if reference in names or not of_models else of_models[0]


def _average(parts: Sequence[Part], measure: str) -> F64:
    """Return the mean over seeds of each target, [T]."""
    values: F64 = np.mean([part.values[measure] for part in parts], axis=0)
    return values
