"""Survey of the routers before a reasoner is asked about them.

It says what was written to them, how alike they are, and how many are missing.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from propagation.model import F32, F64, Bools, RouterMaps, RouterVersion
from propagation.optimization.community_count import count_communities
from propagation.optimization.router_merge import (
    compute_router_products,
    compute_router_similarities,
    merge_costs,
)
from propagation.ports import GraphStore
from propagation.routing import compute_mean_shares
from propagation.workflow.evolve.holdout import Snapshot
from propagation.workflow.evolve.router_gradients import RouterGradients
from propagation.workflow.learn.learned_blocks import WrittenRows, gather
from propagation.workflow.settings import WorkflowSettings


@dataclass(frozen=True)
class RouterSurvey:
    """Routers at T, with what was written to them up to then.

    Attributes:
        snapshot: The numbers at T.
        directions: The users' unit vectors [U, D].
        gradients: By router.
        judged: Routers that readers judged often enough.
        asked: Whether the reasoner may be asked to split a router [K].
        written: What was written to these.
        missing: As in RouterCase.
        costs: As of `merge_costs` [K, K].
        similarities: As of `compute_router_similarities` [K, K].
        versions: The newest version of each router.
        common: As in RouterCase.
    """

    snapshot: Snapshot
    directions: F32
    gradients: Mapping[int, RouterGradients]
    judged: Sequence[int]
    asked: Bools
    written: WrittenRows
    missing: int
    costs: F64
    similarities: F64
    versions: Mapping[int, RouterVersion]
    common: Mapping[str, float]

    def choose_routers(self, most: int) -> list[int]:
        """Order routers: those missing or superfluous first, then the most blamed.

        Args:
            most: How many the reasoner may decide on.
        """
        if self.missing > 0:
            return _order_by_mass(self.judged, self.snapshot)[: 2 * most]
        order = _order_by_blame(self.judged, self.gradients)
        if self.missing == 0:
            return order[: 2 * most]
        free = sorted(self.snapshot.current_routers)
        # A router's cost with itself is infinite.
        cheapest = np.argsort(self.costs[np.ix_(free, free)].min(axis=1), kind="stable")
        pairs = [free[place] for place in cheapest[: -2 * self.missing]]
        return list(dict.fromkeys([*pairs, *order]))[: 4 * most]


async def survey_routers(
    store: GraphStore,
    settings: WorkflowSettings,
    snapshot: Snapshot,
    gradients: Mapping[int, RouterGradients],
    maps: RouterMaps,
    through: int,
) -> RouterSurvey:
    """Survey the routers at T.

    Args:
        snapshot: Taken back to T.
        gradients: By router.
        maps: Of the runs before.
        through: T.
    """
    current = snapshot.current_routers
    judged = [
        router
        for router, found in gradients.items()
        if router in current
        and len(found.choices) >= settings.min_support
        and found.praised + found.blamed >= settings.evolve_support
    ]
    size = 2 * settings.evolve_most
    asked = np.zeros(snapshot.routers, np.bool_)
    asked[_order_by_mass(judged, snapshot)[:size] + _order_by_blame(judged, gradients)[:size]] = (
        True
    )
    written = WrittenRows()
    await gather(store, maps, written, asked, through)
    total = snapshot.tastes.total
    products = await asyncio.to_thread(
        compute_router_products, snapshot.mass, total, snapshot.adoptions, snapshot.tastes.totals
    )
    # A router for which nothing is written yet has an empty text.
    versions = {
        number: RouterVersion(router=number, version=0, round=0, epoch=0, name="", text="")
        for number in range(snapshot.routers)
    }
    texts = await store.get_router_versions(range(snapshot.routers))
    return RouterSurvey(
        snapshot,
        snapshot.directions,
        gradients,
        judged,
        asked,
        written,
        missing=await asyncio.to_thread(_count_missing, written, len(current), settings),
        costs=merge_costs(products, total),
        similarities=compute_router_similarities(products),
        versions=versions | {text.router: text for text in texts},
        common=compute_mean_shares([dict(text.standing) for text in texts]),
    )


def _order_by_blame(routers: Sequence[int], gradients: Mapping[int, RouterGradients]) -> list[int]:
    return sorted(routers, key=lambda router: (-gradients[router].blamed, router))


def _order_by_mass(routers: Sequence[int], snapshot: Snapshot) -> list[int]:
    return sorted(routers, key=lambda router: (-snapshot.tastes.total[router], router))


def _count_missing(written: WrittenRows, routers: int, settings: WorkflowSettings) -> int:
    """Count the routers that are missing; below 0: that are superfluous.

    Routers are missing up to the number of evident communities, and superfluous beyond the number
    of possible ones (RouterCase.missing).
    """
    if not written.pairs:
        return 0
    users, items = (np.concatenate(rows) for rows in zip(*written.pairs, strict=True))
    evident, possible = count_communities(users, items, settings.k_most, settings.seed)
    return max(evident - routers, 0) or min(possible - routers, 0)
