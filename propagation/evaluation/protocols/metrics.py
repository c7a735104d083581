"""The figures of arms and slices, and what all reports state.

The figures are levels and paired differences.
"""

import platform
from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import pairwise
from statistics import median

import numpy as np
from pydantic import Field

from propagation.arrays import F64, I64
from propagation.evaluation.kernels.arms import RANKINGS
from propagation.evaluation.protocols.passes import Ranked
from propagation.evaluation.stream import EvaluationSettings
from propagation.model import Term


class Paired(Term):
    """Mean over users of each user's mean difference, with its t.

    Args:
        t: None with fewer than two users, or without spread.
    """

    mean: float
    t: float | None


def pair_up(left: F64, right: F64, user: I64) -> Paired | None:
    """Return the differences left - right, paired by user.

    Events in which either is NaN are left out.

    Args:
        left: [E]; likewise right.
        user: [E] rows.

    Returns:
        None if no event is left.
    """
    difference = left - right
    kept = ~np.isnan(difference)
    if not kept.any():
        return None
    _, place = np.unique(user[kept], return_inverse=True)
    means = np.bincount(place, difference[kept]) / np.bincount(place)
    spread = float(means.std(ddof=1)) if len(means) > 1 else 0.0
    mean = float(means.mean())
    return Paired(mean=mean, t=mean / (spread / np.sqrt(len(means))) if spread > 0 else None)


def level(values: F64) -> float | None:
    """Return the mean over events; None without any."""
    kept = values[~np.isnan(values)]
    return float(kept.mean()) if len(kept) else None


def seed_median(values: Sequence[float | None]) -> float | None:
    """Return the median over seeds, of those that have a value."""
    known = [value for value in values if value is not None]
    return median(known) if known else None


def seed_median_pair(pairs: Sequence[Paired | None]) -> Paired | None:
    """Return the medians over seeds of mean and t."""
    known = [pair for pair in pairs if pair is not None]
    if not known:
        return None
    return Paired(
        mean=median(pair.mean for pair in known), t=seed_median([pair.t for pair in known])
    )


N10, HR1, MATCHED_N10, _, N10_OF_100 = range(5)


class ArmReport(Term):
    """Figures of one arm.

    They are event means, and paired user means against `off` and `offk`.

    Args:
        n10: N@10 of 10 candidates.
        n10_matched: N@10 against negatives of the target's kind (adopted before, or not).
        n10_of_100: N@10 of 100 candidates.
    """

    name: str
    n10: float | None
    hr1: float | None
    n10_matched: float | None
    n10_of_100: float | None
    against_off: Paired | None
    against_offk: Paired | None


def arm_report(name: str, passes: Sequence[Ranked]) -> ArmReport:
    """Return the figures of one arm of RANKINGS.

    Args:
        passes: One for each seed.
    """
    return ArmReport(
        name=name,
        n10=arm_level(name, N10, passes),
        hr1=arm_level(name, HR1, passes),
        n10_matched=arm_level(name, MATCHED_N10, passes),
        n10_of_100=arm_level(name, N10_OF_100, passes),
        against_off=None if name == "off" else against(name, "off", passes),
        against_offk=None if name == "offk" else against(name, "offk", passes),
    )


def arm_level(name: str, measure: int, passes: Sequence[Ranked]) -> float | None:
    """Return the event mean of a measure of one arm."""
    arm = RANKINGS.index(name)
    return seed_median([level(one.values[:, arm, measure]) for one in passes])


def against(name: str, base: str, passes: Sequence[Ranked]) -> Paired | None:
    """Return the paired user mean of one arm minus another."""
    one, other = RANKINGS.index(name), RANKINGS.index(base)
    return seed_median_pair(
        [
            pair_up(ranked.values[:, one, N10], ranked.values[:, other, N10], ranked.user)
            for ranked in passes
        ]
    )


USERS, ITEMS = (1, 2, 6, 21), (0, 1, 3, 11, 51)
MANY = int(np.iinfo(np.int64).max)


class Slice(Term):
    """Ranked events by how much was known of their user or item.

    Args:
        of: "user" (its interactions) or "item" (its adopters).
        least: Lower bound when ranked; `most` is the upper one, None without end.
        events: Of the first seed.
        off: Event mean of N@10; likewise adoption, offk and offk_adoption.
        gain: Adoption minus off, paired by user; `gain_knn` with kNN on both sides.
    """

    of: str
    least: int
    most: int | None
    events: int
    off: float | None
    adoption: float | None
    offk: float | None
    offk_adoption: float | None
    gain: Paired | None
    gain_knn: Paired | None

    @property
    def span(self) -> str:
        """The bounds in words."""
        if self.most is None:
            return f"{self.least} or more"
        return f"{self.least}" if self.most == self.least else f"{self.least} to {self.most}"


class Measured(Term):
    """What a report was measured on, and what produced it."""

    dataset: str
    events: int
    seconds: float
    commit: str
    python: str = platform.python_version()
    finished: datetime = Field(default_factory=lambda: datetime.now(UTC))


class StreamReport(Measured):
    """A measurement of all arms on a stream."""

    users: int
    items: int
    settings: EvaluationSettings
    embedder: str


class Figures(Term):
    """Figures of each arm, over all events and in slices.

    The slices are by how much was known.

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


def slices_of(passes: Sequence[Ranked]) -> list[Slice]:
    """Return the slices of users, then of items.

    Users are sliced by interactions and items by adopters. Figures are medians over the seeds.
    """
    return [
        _slice(of, least, end - 1, passes)
        for of, edges in (("user", USERS), ("item", ITEMS))
        for least, end in pairwise((*edges, MANY + 1))
    ]


def _slice(of: str, least: int, most: int, passes: Sequence[Ranked]) -> Slice:
    known = [one.past if of == "user" else one.adopters for one in passes]
    kept = [
        one.at((least <= counts) & (counts <= most) & ~np.isnan(one.values[:, 0, N10]))
        for one, counts in zip(passes, known, strict=True)
    ]
    return Slice(
        of=of,
        least=least,
        most=None if most == MANY else most,
        events=len(kept[0].user),
        off=arm_level("off", N10, kept),
        adoption=arm_level("adoption", N10, kept),
        offk=arm_level("offk", N10, kept),
        offk_adoption=arm_level("offk_adoption", N10, kept),
        gain=against("adoption", "off", kept),
        gain_knn=against("offk_adoption", "offk", kept),
    )
