"""Plan of an evolution, as it is judged and as published.

planner.py makes a Plan. If it passes the judge, evolution.py makes a DecidedPlan of it, to which
`catch_up` adds what is learned until the publication.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from propagation.model import (
    F32,
    F64,
    I64,
    Bools,
    EvolutionKind,
    EvolutionRun,
    Halves,
    RouterMaps,
    RouterVersion,
)
from propagation.numbers import Written
from propagation.optimization.router_lineage import Numbering
from propagation.optimization.router_split import Community, is_nearer_second
from propagation.ports import GraphStore
from propagation.workflow.learn import WrittenRows, gather, sum_by_place

ATTRIBUTES = 8
"""How many attributes a router's new text carries."""


@dataclass(frozen=True)
class Division:
    """A split router: which users and how much mass each half takes."""

    halves: Halves
    mass: Written


@dataclass(frozen=True)
class Plan:
    """The reasoner's decisions, numbered.

    Attributes:
        numbering: The routers' new numbers.
        texts: The routers' next versions; the publication numbers them.
        communities: The halves of each router that is split.
        written: Mass written, up to T, to the routers that the reasoner may split.
        asked: Marks these routers [K].
        undecided: Why the reasoner failed to decide, by router.
        superfluous: By how many the routers exceed the number of possible communities; 0 if they
            do not.
    """

    numbering: Numbering
    texts: Sequence[RouterVersion]
    communities: Mapping[int, Community]
    written: WrittenRows
    asked: Bools
    undecided: Mapping[int, str] = field(default_factory=dict)
    superfluous: int = 0

    def divide(self, directions: F32, items: int) -> dict[int, Division]:
        """Divide each split router's users and mass between its halves.

        Args:
            directions: The users' unit vectors [U, D].
            items: How many items there are.

        Returns:
            The division of each split router, by its number before the split.
        """
        return {
            router: _divide(
                numbers, self.communities[router], self.written.of(router), directions, items
            )
            for router, numbers in self.numbering.halves.items()
        }


def _divide(
    numbers: tuple[int, int],
    community: Community,
    written: tuple[I64, I64, F64],
    directions: F32,
    items: int,
) -> Division:
    """Divide a router's users and mass between its two halves.

    A user who wrote to the router only after T goes to the half with the nearer centre. A user who
    never wrote to it goes to the larger half.

    Args:
        numbers: The numbers of the two halves.
        written: User rows, item rows and weights of what was written to the router.
    """
    users, rows, weights = written
    amounts = sum_by_place(users, weights, len(directions))
    known = len(community.amounts)
    in_second = np.zeros(len(directions), np.bool_)
    in_second[:known] = community.in_second
    fresh = amounts > 0
    fresh[:known] &= ~(community.amounts > 0)
    in_second[fresh] = is_nearer_second(directions[fresh], community.centres)
    second = in_second[users]
    total, to_second = float(weights.sum()), float(weights[second].sum())
    larger = 2 * to_second > total
    in_second[amounts <= 0] = larger
    mass = Written(
        sum_by_place(rows[~second], weights[~second], items),
        sum_by_place(rows[second], weights[second], items),
    )
    share = 1 - to_second / total if total > 0 else 0.5
    return Division(Halves(*numbers, in_second, larger, share), mass)


@dataclass(frozen=True)
class DecidedPlan:
    """A plan that is going to be published.

    Each user's half is fixed: a user who first writes to a split router from now on goes to the
    larger half, as RouterMap does with all users who never wrote. So edges and texts can be staged
    before learning stops.

    Attributes:
        run: The report of the run.
        numbering: The routers' new numbers.
        divisions: The division of each split router; its mass is that written up to `through`.
        texts: As in Plan.
        maps: The router maps of the earlier runs.
        through: Sequence up to which written mass is counted.
        totals: Mass written to each router up to `through` [K].
        start_shares: For an undo, as in RouterMap; None: they follow from the totals.
        centres: For an undo, the centres before the run that is undone [K, D]; else None.
    """

    run: EvolutionRun
    numbering: Numbering
    divisions: Mapping[int, Division]
    texts: Sequence[RouterVersion]
    maps: RouterMaps
    through: int
    totals: F64
    start_shares: Mapping[int, float] | None = None
    centres: F32 | None = None

    @property
    def masses(self) -> dict[int, Written]:
        """Mass of both halves, by split router."""
        return {router: division.mass for router, division in self.divisions.items()}

    def shares(self, totals: F64) -> Mapping[int, float]:
        """Return the start shares of merged routers.

        Args:
            totals: The routers' total mass at sequence `through` [K].
        """
        return (
            self.start_shares
            if self.start_shares is not None
            else start_shares(self.numbering, totals, self.totals)
        )


async def catch_up(store: GraphStore, plan: DecidedPlan, through: int) -> DecidedPlan:
    """Add to a plan the mass that was written up to `through`."""
    if through <= plan.through:
        return plan
    routers = len(plan.numbering.home)
    since = WrittenRows(totals=np.zeros(routers), through=plan.through)
    split = np.zeros(routers, np.bool_)
    split[list(plan.divisions)] = True
    await gather(store, plan.maps, since, split, through)
    divisions = {
        router: replace(division, mass=_add(division, since.of(router)))
        for router, division in plan.divisions.items()
    }
    return replace(plan, divisions=divisions, through=through, totals=plan.totals + since.totals)


def _add(division: Division, written: tuple[I64, I64, F64]) -> Written:
    """Add to both halves what was written to a split router.

    Args:
        written: User rows, item rows and weights.
    """
    users, items, weights = written
    second = division.halves.of(users) == division.halves.second
    return Written(
        *(
            _grow(part, items[mine], weights[mine])
            for part, mine in zip(division.mass, (~second, second), strict=True)
        )
    )


def _grow(mass: F64, items: I64, weights: F64) -> F64:
    """Add weights to mass [I].

    The result is longer than `mass` if an item is newer than it.
    """
    out = sum_by_place(items, weights, len(mass))
    out[: len(mass)] += mass
    return out


def start_shares(changes: Numbering, totals: F64, written: F64) -> dict[int, float]:
    """Compute each merged router's share (0..1) in the start mass of both.

    Args:
        totals: The routers' total mass [K].
        written: The part of it that interactions wrote [K]; the rest is start mass.

    Returns:
        Shares by the routers' numbers before the merge.
    """
    out: dict[int, float] = {}
    for change in changes.changes:
        if change.kind == EvolutionKind.MERGE:
            before = list(change.before)
            starts = np.maximum(totals[before] - written[before], 0.0)
            total = starts.sum()
            parts = starts / total if total > 0 else np.full(len(starts), 1 / len(starts))
            out.update(zip(change.before, parts.tolist(), strict=True))
    return out
