"""Cold start (RecNet 3.4.3, Figure 6): users and items of which little is known, with propagation
and without."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from propagation.evaluation.kernels.arms import RANKINGS
from propagation.evaluation.protocols.arm_report import N10, against
from propagation.evaluation.protocols.metrics import Paired, level, middle
from propagation.evaluation.protocols.one_pass import Ranked
from propagation.model.base import Term

USERS, ITEMS = (1, 2, 6, 21), (0, 1, 3, 11, 51)
MANY = int(np.iinfo(np.int64).max)


class Slice(Term):
    """Ranked events whose user ("user") had, or whose item ("item") was adopted by, `least` to
    `most` when ranked (None: no end). `events`: of the first seed. `off` ... `offk_adoption`: event
    means of N@10 · `gain`: adoption less off, `gain_knn`: the same with kNN on both sides, paired
    by user."""

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
        what = "interactions of the user" if self.of == "user" else "adopters of the item"
        if self.most is None:
            return f"{self.least} or more {what}"
        return (
            f"{self.least} {what}"
            if self.most == self.least
            else f"{self.least} to {self.most} {what}"
        )


def slices_of(passes: Sequence[Ranked]) -> list[Slice]:
    """Users by how much they had done, then items by how many had adopted them; medians over the
    seeds."""
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
        return middle([level(one.values[:, RANKINGS.index(arm), N10]) for one in kept])

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
