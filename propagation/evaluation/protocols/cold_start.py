"""Cold start (RecNet 3.4.3, Figure 6): little-known users and items."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from propagation.evaluation.kernels.arms import RANKINGS
from propagation.evaluation.protocols.metrics import N10, Paired, against, level, seed_median
from propagation.evaluation.protocols.one_pass import Ranked
from propagation.model.base import Term

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
    def label(self) -> str:
        """The slice in words."""
        what = "interactions of the user" if self.of == "user" else "adopters of the item"
        if self.most is None:
            return f"{self.least} or more {what}"
        return (
            f"{self.least} {what}"
            if self.most == self.least
            else f"{self.least} to {self.most} {what}"
        )


def slices_of(passes: Sequence[Ranked]) -> list[Slice]:
    """Return slices of users by interactions, then of items by adopters; medians over the seeds."""
    return [
        _slice(of, least, end - 1, passes)
        for of, edges in (("user", USERS), ("item", ITEMS))
        for least, end in pairwise((*edges, MANY + 1))
    ]


def _slice(of: str, least: int, most: int, passes: Sequence[Ranked]) -> Slice:
    kept = []
    for one in passes:
        known = one.past if of == "user" else one.adopters
        kept.append(one.at((known >= least) & (known <= most) & ~np.isnan(one.values[:, 0, N10])))

    def n10(arm: str) -> float | None:
        return seed_median([level(one.values[:, RANKINGS.index(arm), N10]) for one in kept])

    return Slice(
        of=of,
        least=least,
        most=None if most == MANY else most,
        events=len(kept[0].user),
        off=n10("off"),
        adoption=n10("adoption"),
        offk=n10("offk"),
        offk_adoption=n10("offk_adoption"),
        gain=against("adoption", "off", kept),
        gain_knn=against("offk_adoption", "offk", kept),
    )
