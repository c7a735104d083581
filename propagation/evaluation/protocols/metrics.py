"""The figures of arms and slices, and the fields of all reports.

Figures are levels and paired differences.
"""

import platform
from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import pairwise
from statistics import median_low

import numpy as np
from pydantic import Field

from propagation.evaluation.kernels.arms import LIVE, RANKINGS
from propagation.evaluation.protocols.passes import (
    ALL_FIXED_N10,
    FIXED_N10,
    HR1,
    MATCHED_N10,
    N10,
    N10_OF_100,
    PassResult,
)
from propagation.evaluation.stream import EvaluationSettings
from propagation.model import F64, I64, Term


class Paired(Term):
    """Mean over users of each user's mean difference, with its t.

    Args:
        t: The mean divided by its standard error; None with fewer than two users, or without
            spread.
        standard_error: Standard error of the mean; None with fewer than two users.
    """

    mean: float
    t: float | None
    standard_error: float | None = None

    @property
    def worse(self) -> bool:
        """Whether the mean is below zero by more than one standard error."""
        return self.standard_error is not None and self.mean < -self.standard_error


ROUNDING = 1e-12
"""Differences below this share of the values' size are rounding errors, and no differences."""


def pair_up(left: F64, right: F64, user: I64) -> Paired | None:
    """Return the differences left - right, paired by user.

    Events in which either is NaN are left out. Differences that are only rounding errors of the
    values count as 0: the mean of three equal numbers need not be that number.

    Args:
        left: [E] values of the events; likewise right.
        user: [E] rows.

    Returns:
        None if every event is left out.
    """
    difference = left - right
    kept = ~np.isnan(difference)
    if not kept.any():
        return None
    size = np.maximum(np.abs(left[kept]), np.abs(right[kept]))
    _, place = np.unique(user[kept], return_inverse=True)
    events = np.bincount(place)
    sums = np.bincount(place, _drop_rounding(difference[kept], size))
    means = _drop_rounding(sums / events, np.bincount(place, size) / events)
    mean = float(means.mean())
    error = None
    if len(means) > 1:
        spread = means.std(ddof=1) / np.sqrt(len(means))
        error = float(_drop_rounding(spread, size.mean()))
    return Paired(mean=mean, t=mean / error if error else None, standard_error=error)


def _drop_rounding(values: F64, size: F64) -> F64:
    """Return the values, with 0 for rounding errors of that size."""
    return np.where(np.abs(values) <= ROUNDING * size, 0.0, values)


def compute_clustered_error(values: F64, user: I64) -> float | None:
    """Return the standard error of a mean over events, by user.

    Events of one user are not independent: users are the clusters. If each user has one event, it
    is the usual standard error.

    Args:
        values: [E]; NaN is left out.
        user: [E] rows.

    Returns:
        None with fewer than two users.
    """
    kept = ~np.isnan(values)
    _, place = np.unique(user[kept], return_inverse=True)
    users = int(place.max(initial=-1)) + 1
    if users < 2:
        return None
    sums = np.bincount(place, values[kept] - values[kept].mean())
    return float(np.sqrt(users / (users - 1) * (sums**2).sum()) / kept.sum())


def compute_mean(values: F64) -> float | None:
    """Return the mean over events without NaN; None if there are none."""
    kept = values[~np.isnan(values)]
    return float(kept.mean()) if len(kept) else None


def find_median_pass(passes: Sequence[PassResult]) -> int:
    """Return the place of the pass with the median N@10 (live arm).

    All figures of a report come from this pass, since medians from different passes could not be
    compared. Of an even number of passes, the lower of the two in the middle counts.
    """
    levels = [arm_level(LIVE, N10, one) or 0.0 for one in passes]
    return levels.index(median_low(levels))


class ArmReport(Term):
    """Figures of one arm.

    Levels are event means. `against_off` and `against_offk` are paired user means of N@10.

    Args:
        n10: N@10 of 10 candidates.
        n10_matched: N@10 against negatives of the target's kind (adopted before, or not).
        n10_of_100: N@10 of 100 candidates.
        n10_fixed: N@10 against the first nine of the dataset's fixed candidates; None without any.
        n10_of_all_fixed: N@10 against all of them.
    """

    name: str
    n10: float | None
    hr1: float | None
    n10_matched: float | None
    n10_of_100: float | None
    against_off: Paired | None
    against_offk: Paired | None
    n10_fixed: float | None = None
    n10_of_all_fixed: float | None = None


def arm_report(name: str, ranked: PassResult) -> ArmReport:
    """Return the figures of one arm of RANKINGS."""
    return ArmReport(
        name=name,
        n10=arm_level(name, N10, ranked),
        hr1=arm_level(name, HR1, ranked),
        n10_matched=arm_level(name, MATCHED_N10, ranked),
        n10_of_100=arm_level(name, N10_OF_100, ranked),
        n10_fixed=arm_level(name, FIXED_N10, ranked),
        n10_of_all_fixed=arm_level(name, ALL_FIXED_N10, ranked),
        against_off=None if name == "off" else compute_paired_difference(name, "off", ranked),
        against_offk=None if name == "offk" else compute_paired_difference(name, "offk", ranked),
    )


def arm_level(name: str, measure: int, ranked: PassResult) -> float | None:
    """Return an arm's event mean of a measure.

    Args:
        measure: One of MEASURES in passes.py.

    Returns:
        None if the pass did not take the measure, or ranked no event.
    """
    if measure >= ranked.values.shape[2]:
        return None
    return compute_mean(ranked.values[:, RANKINGS.index(name), measure])


def compute_paired_difference(arm: str, base: str, ranked: PassResult) -> Paired | None:
    """Return the paired user mean of one arm's N@10 minus another's."""
    one, other = RANKINGS.index(arm), RANKINGS.index(base)
    return pair_up(ranked.values[:, one, N10], ranked.values[:, other, N10], ranked.user)


USERS, ITEMS = (0, 1, 2, 6, 21), (0, 1, 3, 11, 51)
MANY = int(np.iinfo(np.int64).max)


class Slice(Term):
    """Ranked events by how much was known of their user or item.

    Args:
        of: "user" (its interactions) or "item" (its adopters).
        least: Lower bound of that number when the event was ranked; `most` is the upper bound, None
            without end.
        off: Event mean of N@10; likewise adoption, offk, offk_adoption and knn.
        gain: Adoption minus off, paired by user; `gain_live` with kNN and factors on both sides.
        over_knn: The live arm minus kNN alone, paired by user.
    """

    of: str
    least: int
    most: int | None
    events: int
    off: float | None
    adoption: float | None
    offk: float | None
    offk_adoption: float | None
    knn: float | None
    gain: Paired | None
    gain_live: Paired | None
    over_knn: Paired | None

    @property
    def span(self) -> str:
        """The bounds in words."""
        if self.most is None:
            return f"{self.least} or more"
        return f"{self.least}" if self.most == self.least else f"{self.least} to {self.most}"


class Measured(Term):
    """The data and the program behind a report's figures.

    Args:
        notes: Remarks of the dataset's loader, and on its texts and times.
    """

    dataset: str
    notes: Sequence[str] = ()
    events: int
    seconds: float
    commit: str
    python: str = platform.python_version()
    finished: datetime = Field(default_factory=lambda: datetime.now(UTC))


class StreamReport(Measured):
    """A measurement of all arms on a stream.

    Args:
        seed: The seed of the pass from which all figures come.
    """

    users: int
    items: int
    seed: int
    settings: EvaluationSettings
    embedder: str


class Figures(Term):
    """Figures of each arm, over all events and in slices.

    The slices are by how much was known of the user or the item.

    Source:
        RecNet, Figure 6.
    """

    arms: Sequence[ArmReport]
    slices: Sequence[Slice]

    def arm(self, name: str) -> ArmReport:
        """Return an arm's figures.

        Raises:
            KeyError: The arm was not run.
        """
        return {arm.name: arm for arm in self.arms}[name]


def compute_slices(ranked: PassResult) -> list[Slice]:
    """Return the slices of users, then of items.

    Users are sliced by interactions and items by adopters. A user's first event counts only in the
    slices of users: nothing is known of the user yet.
    """
    with_past = ranked.select_with_past()
    return [
        _slice(of, least, end - 1, one, counts)
        for of, edges, one, counts in (
            ("user", USERS, ranked, ranked.past),
            ("item", ITEMS, with_past, with_past.adopters),
        )
        for least, end in pairwise((*edges, MANY + 1))
    ]


def _slice(of: str, least: int, most: int, ranked: PassResult, counts: I64) -> Slice:
    kept = ranked.select((least <= counts) & (counts <= most)).select_ranked()
    return Slice(
        of=of,
        least=least,
        most=None if most == MANY else most,
        events=len(kept.user),
        off=arm_level("off", N10, kept),
        adoption=arm_level("adoption", N10, kept),
        offk=arm_level("offk", N10, kept),
        offk_adoption=arm_level(LIVE, N10, kept),
        knn=arm_level("knn", N10, kept),
        gain=compute_paired_difference("adoption", "off", kept),
        gain_live=compute_paired_difference(LIVE, "offk", kept),
        over_knn=compute_paired_difference(LIVE, "knn", kept),
    )
