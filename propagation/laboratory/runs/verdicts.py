"""Whether what a paper claims holds in a run.

A claim is judged by differences of targets, after the mean over seeds. Users are the units: targets
of one user are not independent.
"""

from collections.abc import Sequence
from enum import Enum
from typing import NamedTuple

import numpy as np
from scipy.special import stdtrit

from propagation.arrays import F64, I64
from propagation.evaluation.protocols.metrics import Paired, pair_up
from propagation.grouping import group_pairs
from propagation.laboratory.experiments.claims import Claim
from propagation.laboratory.history import Known
from propagation.laboratory.runs.parts import Part
from propagation.model import Term

CHANCE = 0.05
"""How often a difference would be told where there is none."""
LEAST_UNITS = 5
"""Of fewer users or seeds nothing is told."""


class Verdict(Enum):
    """Whether a claim holds."""

    HOLDS = "holds"
    FAILS = "does not hold"
    UNDECIDED = "cannot be told"
    NO_DIFFERENCE = "no difference was found"
    NO_TARGETS = "no such targets"
    NOT_RUN = "not run"


class Judged(Term):
    """A claim with its verdict.

    Attributes:
        difference: The greater's mean less the other's, over users or, for seconds and counts, over
            seeds; None if either was not run.
        units: How many users or seeds.
    """

    claim: str
    verdict: str
    difference: Paired | None = None
    units: int = 0


def judge(claim: Claim, parts: Sequence[Part], known: Known | None) -> Judged:
    """Judge a claim by the results of a run.

    An order holds if the difference has its sign and |t| is at least `find_limit`, and does not
    hold if it has the other sign with such a t. A claim of no difference does not hold from there
    on; if none was found, there may still be one.

    Args:
        known: For claims about slices; None: such claims are not judged.
    """
    by_method = group_pairs((part.method, part) for part in parts)
    if not {claim.greater, claim.less} <= by_method.keys():
        return Judged(claim=str(claim), verdict=Verdict.NOT_RUN.value)
    greater = _collect(claim.measure, by_method[claim.greater])
    less = _collect(claim.measure_of_less, by_method[claim.less])
    if greater is None or less is None or (claim.among is not None and known is None):
        return Judged(claim=str(claim), verdict=Verdict.NOT_RUN.value)
    left, right, unit = _align(greater, less)
    if claim.among is not None and known is not None:
        selected = claim.among.select(known)
        left, right, unit = left[selected], right[selected], unit[selected]
    difference = pair_up(left, right, unit)
    units = len(np.unique(unit[~np.isnan(left - right)]))
    return Judged(
        claim=str(claim),
        verdict=_decide(claim, difference, units).value,
        difference=difference,
        units=units,
    )


def find_limit(units: int) -> float:
    """Return the |t| from which a difference is told, by Student's distribution.

    Args:
        units: How many users or seeds are paired, at least 2.
    """
    return float(stdtrit(units - 1, 1 - CHANCE / 2))


class _Values(NamedTuple):
    """Values to compare.

    Attributes:
        values: [N] of targets, as the mean over seeds, or of seeds.
        unit: [N] the user's number, or the seed.
        by_seed: Whether the units are seeds.
    """

    values: F64
    unit: I64
    by_seed: bool


def _collect(measure: str, parts: Sequence[Part]) -> _Values | None:
    """Return a measure of targets, or a count by seed; None without."""
    if all(measure in part.values for part in parts):
        mean = np.mean([part.values[measure] for part in parts], axis=0)
        return _Values(mean, parts[0].number_users(), by_seed=False)
    found = {part.seed: get_count(measure, part) for part in parts}
    known = {seed: value for seed, value in found.items() if value is not None}
    if not known:
        return None
    return _Values(np.array([*known.values()]), np.array([*known], np.int64), by_seed=True)


def get_count(measure: str, part: Part) -> float | None:
    """Return a seed's seconds or one of its counts, if measured."""
    return part.seconds if measure == "seconds" else part.measured.counts.get(measure)


def _align(greater: _Values, less: _Values) -> tuple[F64, F64, I64]:
    """Return the values of what both have, and their units."""
    if not greater.by_seed:
        return greater.values, less.values, greater.unit
    unit, ours, theirs = np.intersect1d(greater.unit, less.unit, return_indices=True)
    return greater.values[ours], less.values[theirs], unit


def _decide(claim: Claim, difference: Paired | None, units: int) -> Verdict:
    if difference is None:
        return Verdict.NO_TARGETS
    if difference.standard_error is None or units < LEAST_UNITS:
        return Verdict.UNDECIDED
    if difference.t is None:  # every unit has the same difference
        told = difference.mean != 0
        positive = difference.mean > 0
    else:
        told = abs(difference.t) >= find_limit(units)
        positive = difference.t > 0
    if not claim.differs:
        return Verdict.FAILS if told else Verdict.NO_DIFFERENCE
    if not told:
        return Verdict.UNDECIDED
    return Verdict.HOLDS if positive else Verdict.FAILS
