"""What an evolution is going to publish, and how it keeps up with what is learned until it does."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from propagation.model.routers.evolution import EvolutionKind, EvolutionRun
from propagation.model.routers.router_maps import Halves, RouterMaps
from propagation.numbers.evolve import Written as WrittenMass
from propagation.optimization.router_lineage import Numbering
from propagation.ports.graph.graph_store import GraphStore
from propagation.workflow.evolve.planner import NewText
from propagation.workflow.learn.learned_weights import Written, gather, summed

F64 = NDArray[np.float64]
Divided = Mapping[int, tuple[Halves, WrittenMass]]


@dataclass(frozen=True)
class DecidedPlan:
    """What goes live: `divided` by router that is split, its mass as written up to sequence
    `through`; `totals` [K] what was written to every router up to there; `texts` what changed
    routers say; `maps` of the runs before. Of an undo: `centres` [K,D] of routers that come back,
    by number, and `start_shares` as in RouterMap (None: they follow from the totals).

    Who belongs to which half is decided: a user who writes to a split router for the first time
    after that goes with the larger half, as in RouterMap everybody who never wrote does. So edges
    and texts can follow before the learner stands still."""

    run: EvolutionRun
    numbering: Numbering
    divided: Divided
    texts: Sequence[NewText]
    maps: RouterMaps
    through: int
    totals: F64
    start_shares: Mapping[int, float] | None = None
    centres: NDArray[np.float32] | None = None

    def shares(self, totals: F64) -> Mapping[int, float]:
        """`totals` [K]: the routers' at sequence `through`."""
        return (
            start_shares(self.numbering, totals, self.totals)
            if self.start_shares is None
            else self.start_shares
        )


async def caught_up(store: GraphStore, decided: DecidedPlan, through: int) -> DecidedPlan:
    """The same, with what was written up to `through`."""
    if through <= decided.through:
        return decided
    routers = len(decided.numbering.home)
    since, wanted = (
        Written(totals=np.zeros(routers), through=decided.through),
        np.zeros(routers, np.bool_),
    )
    wanted[list(decided.divided)] = True
    await gather(store, decided.maps, since, wanted, through)
    divided = {
        router: (halves, _with(mass, router, halves, since))
        for router, (halves, mass) in decided.divided.items()
    }
    return replace(decided, divided=divided, through=through, totals=decided.totals + since.totals)


def _with(mass: WrittenMass, router: int, halves: Halves, since: Written) -> WrittenMass:
    users, items, weights = since.of(router)
    second = halves.of(users) == halves.second
    return WrittenMass(
        *(
            _added(part, items[mine], weights[mine])
            for part, mine in zip(mass, (~second, second), strict=True)
        )
    )


def _added(mass: F64, items: NDArray[np.int64], weights: F64) -> F64:
    """[I'] mass [I] and what these wrote; longer where an item is newer than the mass."""
    if not len(items):
        return mass
    out = summed(items, weights, len(mass))
    out[: len(mass)] += mass
    return out


def start_shares(changes: Numbering, totals: F64, written: F64) -> dict[int, float]:
    """Of merged routers, each one's part of their start mass: what its total [K] is more than what
    was written [K]."""
    out: dict[int, float] = {}
    for change in changes.changes:
        if change.kind == EvolutionKind.MERGE:
            starts = np.maximum(totals[list(change.before)] - written[list(change.before)], 0.0)
            parts = (
                starts / starts.sum() if starts.sum() > 0 else np.full(len(starts), 1 / len(starts))
            )
            out.update(zip(change.before, parts.tolist(), strict=True))
    return out
