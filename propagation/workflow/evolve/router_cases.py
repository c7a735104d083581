"""Cases that the reasoner decides on (RecNet 2.4): routers, and the gradients of their messages."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from propagation.model import Gradient, Module, RouterCase, RouterMaps, RouterVersion
from propagation.optimization.router_merge import merged_standing
from propagation.optimization.router_split import (
    Community,
    router_halves,
)
from propagation.ports import GraphStore
from propagation.routing.integration import mean_shares

PAGE = 2_000


WINDOW = 20_000


NEWEST = 50


@dataclass
class RouterGradients:
    """Gradients of one router.

    praised, blamed: How many have the reward 1 and 0. choices: What each writer (ref) chose, how
    often. newest: The newest gradients, at least NEWEST of them if there are so many.
    """

    praised: int = 0
    blamed: int = 0
    choices: dict[int, Counter[str]] = field(default_factory=dict)
    newest: list[Gradient] = field(default_factory=list)

    def add(self, gradient: Gradient) -> None:
        """Count a gradient."""
        if gradient.reward:
            self.praised += 1
        else:
            self.blamed += 1
        self.choices.setdefault(gradient.writer, Counter()).update(gradient.attributes)
        self.newest.append(gradient)
        if len(self.newest) > 2 * NEWEST:
            del self.newest[:-NEWEST]

    @property
    def all_choices(self) -> Counter[str]:
        """The choices of all writers."""
        total: Counter[str] = Counter()
        for names in self.choices.values():
            total.update(names)
        return total


async def load_router_gradients(
    store: GraphStore, maps: RouterMaps, after: int, through: int, era: int
) -> Mapping[int, RouterGradients]:
    """Load the gradients with after < sequence <= through, of at most the last 20,000 sequences.

    They follow lineage: a gradient of a router that was split since counts for both halves. Those
    of an earlier bootstrap's routers are left out.

    Args:
        era: The epoch of the newest bootstrap.

    Returns:
        Gradients by current router, ascending.
    """
    found: dict[int, RouterGradients] = {}
    current: dict[tuple[int, int], tuple[int, ...]] = {}
    after = max(after, through - WINDOW)
    while after < through:
        page = await store.gradients(Module.ROUTER, None, after, PAGE)
        last = through if len(page) < PAGE else page[-1].sequence - 1
        for gradient in page:
            if gradient.sequence <= min(last, through) and gradient.epoch >= era:
                origin = (gradient.epoch, gradient.owner)
                if origin not in current:
                    current[origin] = maps.since(gradient.epoch).successors_of(gradient.owner)
                for router in current[origin]:
                    found.setdefault(router, RouterGradients()).add(gradient)
        if last <= after:  # one interaction never has a whole page of gradients
            break
        after = last
    return dict(sorted(found.items()))


class RouterCases:
    """Builds the cases that the reasoner decides on."""

    def __init__(
        self, versions: Mapping[int, RouterVersion], similarities: NDArray[np.float64]
    ) -> None:
        self._versions = versions
        self._similarities = similarities
        self._common = mean_shares([dict(version.standing) for version in versions.values()])

    def build(
        self,
        router: int,
        gradients: RouterGradients,
        community: Community | None,
        free: frozenset[int],
    ) -> RouterCase:
        """Describe a router, and what a split or a merge with one of `free` would give."""
        version = self._version(router)
        similarities = self._similarities[router]
        nearest = max(sorted(free - {router}), key=similarities.__getitem__, default=None)
        other = None if nearest is None else self._version(nearest)
        halves = router_halves(version, gradients.choices, community) if community else None
        return RouterCase(
            router=version,
            gradients=gradients.newest[: -NEWEST - 1 : -1],
            praised=gradients.praised,
            blamed=gradients.blamed,
            choices=gradients.all_choices,
            common=self._common,
            halves=halves,
            distance=community.distance if community else 0.0,
            nearest=other,
            similarity=-1.0 if nearest is None else float(similarities[nearest]),
            merged_standing=None if other is None else merged_standing([version, other]),
        )

    def _version(self, router: int) -> RouterVersion:
        """Return a router's text; an empty one where nothing is written yet."""
        return self._versions.get(router) or RouterVersion(
            router=router, version=0, round=0, epoch=0, name="", text=""
        )
