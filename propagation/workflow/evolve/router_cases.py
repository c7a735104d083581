"""Cases for the reasoner: of each router with enough gradients, what a split, a merge or a rewrite
would be (RecNet 2.4)."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from propagation.model.clients.client import index_of
from propagation.model.routers.router import RouterVersion
from propagation.model.routers.router_case import RouterCase, RouterHalf
from propagation.numbers.seeded_hash import mixed
from propagation.optimization.router_split import nearer_second, two_means
from propagation.routing.integration import STANDING_MAX, mean_shares
from propagation.workflow.evolve.router_gradients import NEWEST, RouterGradients
from propagation.workflow.learn.learned_weights import Written, summed

LEAST_WRITERS = 4


@dataclass(frozen=True)
class Community:
    """Who wrote to a router, and its halves: `amounts` [U] f64 by user row, `centres` [2,D] f32,
    `in_second` [U] for those who wrote."""

    amounts: NDArray[np.float64]
    centres: NDArray[np.float32]
    in_second: NDArray[np.bool_]

    @property
    def share(self) -> float:
        """The first half's part of what was written."""
        return float(self.amounts[~self.in_second].sum() / self.amounts.sum())


def community_of(
    router: int, written: Written, directions: NDArray[np.float32], seed: int
) -> Community | None:
    """None where fewer than four users with a history wrote to it."""
    users, _, weights = written.of(router)
    amounts = summed(users, weights, len(directions))
    wrote = np.flatnonzero((amounts > 0) & directions.any(axis=1))
    if len(wrote) < LEAST_WRITERS:
        return None
    centres = two_means(
        directions[wrote], amounts[wrote], int(mixed(np.uint64(router), np.uint64(seed))) >> 1
    )
    in_second = np.zeros(len(directions), np.bool_)
    in_second[wrote] = nearer_second(directions[wrote], centres)
    return Community(amounts, centres, in_second)


class Cases:
    """Makes cases from one look. `versions`: the routers' current texts, by router; `alike` [K,K]
    likeness."""

    def __init__(self, versions: Mapping[int, RouterVersion], alike: NDArray[np.float64]) -> None:
        self._versions = versions
        self._alike = alike
        self._common = mean_shares([dict(version.standing) for version in versions.values()])

    def of(
        self, router: int, told: RouterGradients, community: Community | None, free: frozenset[int]
    ) -> RouterCase:
        """`free`: routers that may be merged with this one."""
        version = self._versions.get(router) or nameless(router)
        nearest = max(
            sorted(free - {router}), key=lambda other: self._alike[router, other], default=None
        )
        other = None if nearest is None else self._versions.get(nearest) or nameless(nearest)
        return RouterCase(
            router=version,
            gradients=told.newest[: -NEWEST - 1 : -1],
            praised=told.praised,
            blamed=told.blamed,
            choices=told.all_wanted,
            common=self._common,
            halves=None if community is None else _halves(version, told, community),
            distance=0.0
            if community is None
            else float(1 - community.centres[0] @ community.centres[1]),
            nearest=other,
            similarity=-1.0 if nearest is None else float(self._alike[router, nearest]),
            merged_standing=None if other is None else together([version, other]),
        )


def nameless(router: int) -> RouterVersion:
    """A router of which nothing is written yet."""
    return RouterVersion(router=router, version=0, round=0, epoch=0, name="", text="")


def together(versions: Sequence[RouterVersion]) -> dict[str, float]:
    """What merged routers stand for: the sums, the largest twenty-four."""
    sums: Counter[str] = Counter()
    for version in versions:
        for name, weight in version.standing:
            sums[name] += weight  # type: ignore[assignment]  # a counter of weights
    return {
        name: float(sums[name])
        for name in sorted(sums, key=lambda name: (-sums[name], name))[:STANDING_MAX]
    }


def _halves(
    version: RouterVersion, told: RouterGradients, community: Community
) -> tuple[RouterHalf, RouterHalf]:
    """Each half's readers chose what its attributes tell; what the router stands for goes to whom
    it was wanted by."""
    wanted: tuple[Counter[str], Counter[str]] = (Counter(), Counter())
    for writer, names in told.wanted.items():
        row = index_of(writer)
        if row < len(community.amounts) and community.amounts[row] > 0:
            wanted[int(community.in_second[row])].update(names)
    shares = (community.share, 1 - community.share)
    return _half(version, shares[0], wanted[0], wanted[1]), _half(
        version, shares[1], wanted[1], wanted[0]
    )


def _half(
    version: RouterVersion, share: float, wanted: Counter[str], others: Counter[str]
) -> RouterHalf:
    standing = {
        name: weight * (wanted[name] + share) / (wanted[name] + others[name] + 1)
        for name, weight in version.standing
    }
    for name, count in wanted.items():
        standing.setdefault(name, count * share)
    kept = sorted(standing, key=lambda name: (-standing[name], name))[:STANDING_MAX]
    return RouterHalf(share=share, choices=wanted, standing={name: standing[name] for name in kept})
