"""The plan of an evolution: which routers are split, merged or rewritten, from their gradients
(RecNet 2.4, eq. 9)."""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from propagation.model.clients.attribute import rank_by_distinctiveness
from propagation.model.errors import ReasonerFailed
from propagation.model.routers.evolution import EvolutionChange, EvolutionKind
from propagation.model.routers.router import RouterVersion
from propagation.model.routers.router_case import RouterCase, RouterDecision
from propagation.model.routers.router_maps import Halves, RouterMaps
from propagation.numbers.evolve import Written as WrittenMass
from propagation.optimization.router_lineage import Numbering, numbered
from propagation.optimization.router_merge import likeness
from propagation.optimization.router_split import nearer_second
from propagation.ports.graph.graph_store import GraphStore
from propagation.ports.reasoner import Reasoner
from propagation.workflow.evolve.router_cases import Cases, Community, community_of
from propagation.workflow.evolve.router_gradients import RouterGradients
from propagation.workflow.evolve.snapshot import Snapshot
from propagation.workflow.learn.learned_weights import Written, gather, summed
from propagation.workflow.settings import WorkflowSettings

ATTRIBUTES = 8
log = logging.getLogger(__name__)
TEXTS = {EvolutionKind.SPLIT: 2, EvolutionKind.MERGE: 1, EvolutionKind.REWRITE: 1}


@dataclass(frozen=True)
class NewText:
    """What a router says after the run; `standing`, `attributes` and `written_by` as in
    RouterVersion."""

    router: int
    name: str
    text: str
    standing: tuple[tuple[str, float], ...]
    attributes: tuple[str, ...]
    written_by: str = ""


@dataclass(frozen=True)
class Plan:
    """`communities`: of each router that is split. `written`: what was written to the routers
    looked at, up to T. `undecided`: why routers that were asked about were not decided on."""

    numbering: Numbering
    texts: Sequence[NewText]
    communities: Mapping[int, Community]
    written: Written
    wanted: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, np.bool_))
    undecided: Mapping[int, str] = field(default_factory=dict)


class Planner:
    """Asks the reasoner about routers that readers have judged often enough, those most blamed
    first."""

    def __init__(self, store: GraphStore, reasoner: Reasoner, settings: WorkflowSettings) -> None:
        self._store = store
        self._reasoner = reasoner
        self._settings = settings

    async def plan(
        self,
        sight: Snapshot,
        told: Mapping[int, RouterGradients],
        versions: Mapping[int, RouterVersion],
        maps: RouterMaps,
        through: int,
    ) -> Plan:
        """From gradients and writes up to `through` (T); `sight` stands at T."""
        asked = self._asked(sight, told)
        wanted = np.zeros(sight.routers, np.bool_)
        wanted[asked] = True
        written = Written()
        await gather(self._store, maps, written, wanted, through)
        alike = await asyncio.to_thread(
            likeness, sight.mass, sight.total, sight.adoptions, sight.totals
        )
        cases, directions = Cases(versions, alike), sight.directions
        free = frozenset(range(sight.routers)) - sight.retired
        room = self._settings.k_most - len(free)
        decided: list[tuple[RouterCase, RouterDecision]] = []
        communities: dict[int, Community] = {}
        undecided: dict[int, str] = {}
        for router in asked:
            if router not in free or len(decided) == self._settings.evolve_most:
                continue
            community = None
            if room > 0:
                community = await asyncio.to_thread(
                    community_of, router, written, directions, self._settings.seed
                )
            case = await asyncio.to_thread(cases.of, router, told[router], community, free)
            try:
                decision = await self._decision(case)
            except ReasonerFailed as error:
                undecided[router] = str(error)
                log.warning("router %d stays as it is: %s", router, error)
                continue
            if decision is not None:
                decided.append((case, decision))
                free -= set(_routers(case, decision))
                if decision.kind == EvolutionKind.SPLIT and community is not None:
                    communities[router] = community
                    room -= 1
        numbering = numbered([_change(*one) for one in decided], sight.routers, sight.retired)
        texts = [
            text
            for (case, decision), change in zip(decided, numbering.changes, strict=True)
            for text in _texts(case, decision, change.after)
        ]
        return Plan(numbering, texts, communities, written, wanted, undecided)

    def _asked(self, sight: Snapshot, told: Mapping[int, RouterGradients]) -> list[int]:
        enough = [
            router
            for router, said in told.items()
            if router < sight.routers
            and router not in sight.retired
            and len(said.wanted) >= self._settings.min_support
            and said.praised + said.blamed >= self._settings.evolve_support
        ]
        return sorted(enough, key=lambda router: (-told[router].blamed, router))[
            : 2 * self._settings.evolve_most
        ]

    async def _decision(self, case: RouterCase) -> RouterDecision | None:
        """What to do with a router; None where nothing. Raises ReasonerFailed, also where the
        answer cannot be carried out."""
        decision = await self._reasoner.decide_router(case)
        if decision.kind is None:
            return None
        possible = {
            EvolutionKind.SPLIT: case.halves is not None,
            EvolutionKind.MERGE: case.nearest is not None,
            EvolutionKind.REWRITE: True,
        }[decision.kind]
        if not possible or len(decision.texts) != TEXTS[decision.kind]:
            raise ReasonerFailed(f"a {decision.kind} cannot be made of the reasoner's answer")
        return decision


def divided(
    numbers: tuple[int, int],
    router: int,
    community: Community,
    written: Written,
    directions: NDArray[np.float32],
    items: int,
) -> tuple[Halves, WrittenMass]:
    """A split with everybody who has written by now: who wrote later than T goes with the centre
    that its unit vector [U,D] is nearer to. `numbers`: of the two halves."""
    users, rows, weights = written.of(router)
    amounts = summed(users, weights, len(directions))
    known = len(community.amounts)
    in_second = np.zeros(len(directions), np.bool_)
    in_second[:known] = community.in_second
    fresh = amounts > 0
    fresh[:known] &= ~(community.amounts > 0)
    in_second[fresh] = nearer_second(directions[fresh], community.centres)
    second = in_second[users]
    total, to_second = float(weights.sum()), float(weights[second].sum())
    larger = 2 * to_second > total
    in_second[amounts <= 0] = larger
    mass = WrittenMass(
        summed(rows[~second], weights[~second], items), summed(rows[second], weights[second], items)
    )
    return Halves(*numbers, in_second, larger, 1 - to_second / total if total > 0 else 0.5), mass


def _routers(case: RouterCase, decision: RouterDecision) -> tuple[int, ...]:
    mine = case.router.router
    if decision.kind == EvolutionKind.MERGE and case.nearest is not None:
        return tuple(sorted((mine, case.nearest.router)))
    return (mine,)


def _change(case: RouterCase, decision: RouterDecision) -> EvolutionChange:
    assert decision.kind is not None
    return EvolutionChange(
        kind=decision.kind, before=_routers(case, decision), after=(), reason=decision.reason
    )


def _texts(case: RouterCase, decision: RouterDecision, after: Sequence[int]) -> list[NewText]:
    if decision.kind == EvolutionKind.SPLIT and case.halves is not None:
        standings = [half.standing for half in case.halves]
    elif decision.kind == EvolutionKind.MERGE and case.merged_standing is not None:
        standings = [case.merged_standing]
    else:
        standings = [
            {
                **{name: weight / 2 for name, weight in case.router.standing},
                **{name: float(count) for name, count in case.choices.items()},
            }
        ]
    return [
        NewText(
            router,
            name,
            text,
            tuple(standing.items()),
            tuple(rank_by_distinctiveness(standing, case.common)[:ATTRIBUTES]),
            decision.written_by,
        )
        for router, (name, text), standing in zip(after, decision.texts, standings, strict=True)
    ]
