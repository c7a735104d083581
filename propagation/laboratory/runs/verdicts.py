"""Whether what a paper claims holds in a run.

A claim is judged by differences that are paired by user, after the mean over seeds.
"""

from collections.abc import Mapping, Sequence
from enum import Enum

import numpy as np
from scipy.special import stdtrit

from propagation.arrays import F64
from propagation.evaluation.protocols.metrics import Paired, pair_up
from propagation.grouping import group_pairs
from propagation.laboratory.experiments.claims import Claim
from propagation.laboratory.history import Known
from propagation.laboratory.runs.run import Part
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
    values = [_collect(claim.measure, by_method[name]) for name in (claim.greater, claim.less)]
    if any(one is None for one in values):
        return Judged(claim=str(claim), verdict=Verdict.NOT_RUN.value)
    greater, less = _match(values[0] or {}, values[1] or {})
    if claim.among is not None:
        if known is None:
            return Judged(claim=str(claim), verdict=Verdict.NOT_RUN.value)
        selected = claim.among.select(known)
        greater, less = greater[selected], less[selected]
    difference = pair_up(greater, less, np.arange(len(greater)))
    units = int((~np.isnan(greater - less)).sum())
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


def _collect(measure: str, parts: Sequence[Part]) -> Mapping[str, F64] | None:
    """Return values of targets under one key, or counts by seed.

    Measures of targets are averaged over seeds, under the key "".
    """
    if all(measure in part.values for part in parts):
        return {"": np.mean([part.values[measure] for part in parts], axis=0)}
    found = {str(part.seed): get_count(measure, part) for part in parts}
    known = {seed: np.array([value]) for seed, value in found.items() if value is not None}
    return known or None


def get_count(measure: str, part: Part) -> float | None:
    """Return a seed's seconds or one of its counts, if measured."""
    return part.seconds if measure == "seconds" else part.measured.counts.get(measure)


def _match(greater: Mapping[str, F64], less: Mapping[str, F64]) -> tuple[F64, F64]:
    """Return the values of the keys that both have, one after another."""
    keys = [key for key in greater if key in less]
    empty = np.empty(0)
    return (
        np.concatenate([empty, *(greater[key] for key in keys)]),
        np.concatenate([empty, *(less[key] for key in keys)]),
    )


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
