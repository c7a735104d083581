"""Plan of an evolution (RecNet 2.4, eq. 9).

It says which routers are split, merged or rewritten. Gradients say which routers are asked about;
the reasoner decides on each.
"""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from propagation.model import (
    F32,
    F64,
    EvolutionChange,
    EvolutionKind,
    Gradient,
    ReasonerFailed,
    RouterCase,
    RouterDecision,
    RouterMaps,
    RouterVersion,
    rank_by_distinctiveness,
)
from propagation.numbers import mix_seed
from propagation.optimization.community_count import count_communities
from propagation.optimization.router_lineage import number_routers
from propagation.optimization.router_merge import (
    compute_router_products,
    compute_router_similarities,
    merge_costs,
    merge_standing,
)
from propagation.optimization.router_rewrite import rewrite_standing
from propagation.optimization.router_split import (
    Community,
    list_supported_choices,
    split_community,
    split_router,
)
from propagation.ports import GraphStore, Reasoner
from propagation.routing import compute_mean_shares
from propagation.workflow.evolve.holdout import Snapshot
from propagation.workflow.evolve.plan import ATTRIBUTES, Plan
from propagation.workflow.evolve.router_gradients import RouterGradients, list_supported_gradients
from propagation.workflow.learn.learned_blocks import WrittenRows, gather, sum_by_place
from propagation.workflow.settings import WorkflowSettings

TEXTS = {EvolutionKind.SPLIT: 2, EvolutionKind.MERGE: 1, EvolutionKind.REWRITE: 1}
log = logging.getLogger(__name__)


def _build_router_case(
    router: RouterVersion,
    gradients: RouterGradients,
    shown: Sequence[Gradient],
    community: Community | None,
    nearest: RouterVersion | None,
    similarity: float,
    common: Mapping[str, float],
    min_support: int,
    missing: int,
) -> RouterCase:
    """Describe a router with its possible split and merge.

    The merge is with the nearest router. What fewer than `min_support` readers chose is left out.

    Args:
        shown: The gradients that the reasoner may read.
    """
    choices = gradients.choices
    return RouterCase(
        router=router,
        gradients=shown,
        praised=gradients.praised,
        blamed=gradients.blamed,
        choices=list_supported_choices(choices.values(), min_support),
        common=common,
        halves=split_router(router, choices, community, min_support) if community else None,
        distance=community.distance if community else 0.0,
        nearest=nearest,
        similarity=similarity,
        merged_standing=None if nearest is None else merge_standing([router, nearest]),
        missing=missing,
    )


@dataclass
class _PlanDraft:
    """Decisions so far.

    `free` routers may still change, and `room` more may come to be. `missing` is as in RouterCase.
    """

    free: frozenset[int]
    room: int
    missing: int
    cases: list[tuple[RouterCase, RouterDecision]] = field(default_factory=list)
    changes: list[EvolutionChange] = field(default_factory=list)
    communities: dict[int, Community] = field(default_factory=dict)
    undecided: dict[int, str] = field(default_factory=dict)

    def add(self, case: RouterCase, decision: RouterDecision, community: Community | None) -> None:
        """Take a decision into the plan.

        Raises:
            ReasonerFailed: It cannot be carried out.
        """
        change = _change(case, decision)
        self.cases.append((case, decision))
        self.changes.append(change)
        self.free -= set(change.before)
        if change.kind == EvolutionKind.SPLIT and community is not None:
            self.communities[case.router.router] = community
            self.room -= 1
            self.missing -= 1
        self.missing += change.kind == EvolutionKind.MERGE


@dataclass
class Planner:
    """Asks the reasoner about routers that readers judged often enough.

    The most blamed router comes first.
    """

    store: GraphStore
    reasoner: Reasoner
    settings: WorkflowSettings

    async def plan(
        self,
        snapshot: Snapshot,
        gradients: Mapping[int, RouterGradients],
        maps: RouterMaps,
        through: int,
    ) -> Plan:
        """Make a plan from gradients and writes up to T.

        Args:
            snapshot: Taken back to T.
            gradients: By router.
            maps: Of the runs before.
            through: T.
        """
        free = frozenset(range(snapshot.routers)) - snapshot.retired
        gram = await asyncio.to_thread(
            compute_router_products,
            snapshot.mass,
            snapshot.tastes.total,
            snapshot.adoptions,
            snapshot.tastes.totals,
        )
        similarities, costs = (
            compute_router_similarities(gram),
            merge_costs(gram, snapshot.tastes.total),
        )
        asked = np.zeros(snapshot.routers, np.bool_)
        enough = [
            router
            for router, found in gradients.items()
            if router < snapshot.routers
            and router not in snapshot.retired
            and len(found.choices) >= self.settings.min_support
            and found.praised + found.blamed >= self.settings.evolve_support
        ]
        size = 2 * self.settings.evolve_most
        asked[
            self._order_by_mass(enough, snapshot)[:size]
            + self._order_by_blame(enough, gradients)[:size]
        ] = True
        written = WrittenRows()
        await gather(self.store, maps, written, asked, through)
        missing = await asyncio.to_thread(self._count_missing, written, len(free))
        routers = self._choose_routers_to_ask(enough, gradients, snapshot, costs, missing)
        texts = await self.store.get_router_versions(range(snapshot.routers))
        common = compute_mean_shares([dict(text.standing) for text in texts])
        # A router for which nothing is written yet has an empty text.
        versions = {
            number: RouterVersion(router=number, version=0, round=0, epoch=0, name="", text="")
            for number in range(snapshot.routers)
        } | {text.router: text for text in texts}
        draft = _PlanDraft(free, self.settings.k_most - len(free), missing)
        directions = snapshot.directions
        for router in routers:
            if router not in draft.free or len(draft.cases) == self.settings.evolve_most:
                continue
            if draft.missing >= 0 and router not in enough:
                continue
            community = (
                await asyncio.to_thread(self._split, router, written, directions)
                if draft.room > 0 and asked[router]
                else None
            )
            nearest = min(
                sorted(draft.free - {router}), key=costs[router].__getitem__, default=None
            )
            found = gradients.get(router, RouterGradients())
            case = await asyncio.to_thread(
                _build_router_case,
                versions[router],
                found,
                await list_supported_gradients(
                    self.store, found, snapshot.adoptions, self.settings.min_support
                ),
                community,
                None if nearest is None else versions[nearest],
                -1.0 if nearest is None else float(similarities[router][nearest]),
                common,
                self.settings.min_support,
                draft.missing,
            )
            await self._decide(case, community, draft)
        numbering = number_routers(draft.changes, snapshot.routers, snapshot.retired)
        next_texts = [
            text
            for (case, decision), change in zip(draft.cases, numbering.changes, strict=True)
            for text in _assign_texts(case, decision, change.after)
        ]
        return Plan(
            numbering,
            next_texts,
            draft.communities,
            written,
            asked,
            draft.undecided,
            max(-missing, 0),
        )

    def _order_by_blame(
        self, routers: Sequence[int], gradients: Mapping[int, RouterGradients]
    ) -> list[int]:
        return sorted(routers, key=lambda router: (-gradients[router].blamed, router))

    def _order_by_mass(self, routers: Sequence[int], snapshot: Snapshot) -> list[int]:
        return sorted(routers, key=lambda router: (-snapshot.tastes.total[router], router))

    def _count_missing(self, written: WrittenRows, routers: int) -> int:
        """Count the routers that are missing; below 0: that are superfluous.

        Routers are missing up to the number of evident communities, and superfluous beyond the
        number of possible ones (RouterCase.missing).
        """
        if not written.pairs:
            return 0
        users, items = (np.concatenate(rows) for rows in zip(*written.pairs, strict=True))
        evident, possible = count_communities(
            users, items, self.settings.k_most, self.settings.seed
        )
        return max(evident - routers, 0) or min(possible - routers, 0)

    def _choose_routers_to_ask(
        self,
        enough: Sequence[int],
        gradients: Mapping[int, RouterGradients],
        snapshot: Snapshot,
        costs: F64,
        missing: int,
    ) -> list[int]:
        """Order routers: those missing or superfluous first, then the most blamed."""
        order = self._order_by_blame(enough, gradients)
        if missing > 0:
            order = self._order_by_mass(enough, snapshot)
        elif missing < 0:
            free = sorted(set(range(snapshot.routers)) - snapshot.retired)
            cheapest = np.where(np.eye(len(free)) > 0, np.inf, costs[np.ix_(free, free)]).min(
                axis=1
            )
            pairs = [free[place] for place in np.argsort(cheapest, kind="stable")]
            order = list(dict.fromkeys([*pairs[: -2 * missing], *order]))
        return order[
            : 4 * self.settings.evolve_most if missing < 0 else 2 * self.settings.evolve_most
        ]

    def _split(self, router: int, written: WrittenRows, directions: F32) -> Community | None:
        users, _, weights = written.of(router)
        seed = int(mix_seed(np.uint64(router), np.uint64(self.settings.seed))) >> 1
        return split_community(sum_by_place(users, weights, len(directions)), directions, seed)

    async def _decide(
        self, case: RouterCase, community: Community | None, draft: _PlanDraft
    ) -> None:
        """Ask the reasoner what to do with a router.

        On a failure the router stays as it is.
        """
        try:
            decision = await self.reasoner.decide_router(case)
            if decision.kind is not None:
                draft.add(case, decision, community)
        except ReasonerFailed as error:
            draft.undecided[case.router.router] = str(error)
            log.warning("router %d stays as it is: %s", case.router.router, error)


def _change(case: RouterCase, decision: RouterDecision) -> EvolutionChange:
    """Build the change of routers that a decision asks for.

    The routers' numbers after the change are not known yet.

    Raises:
        ReasonerFailed: The decision cannot be carried out.
    """
    kind = decision.kind
    possible = {
        EvolutionKind.SPLIT: case.halves is not None,
        EvolutionKind.MERGE: case.nearest is not None,
        EvolutionKind.REWRITE: True,
    }
    if kind is None or not possible[kind] or len(decision.texts) != TEXTS[kind]:
        raise ReasonerFailed(f"a {kind} cannot be made of the reasoner's answer")
    before = {case.router.router}
    if kind == EvolutionKind.MERGE and case.nearest is not None:
        before.add(case.nearest.router)
    return EvolutionChange(
        kind=kind, before=tuple(sorted(before)), after=(), reason=decision.reason
    )


def _assign_texts(
    case: RouterCase, decision: RouterDecision, after: Sequence[int]
) -> list[RouterVersion]:
    """Give each router that comes of a decision its text."""
    if decision.kind == EvolutionKind.SPLIT and case.halves is not None:
        standings = [half.standing for half in case.halves]
    elif decision.kind == EvolutionKind.MERGE and case.merged_standing is not None:
        standings = [case.merged_standing]
    else:
        standings = [rewrite_standing(case.router, case.choices)]
    return [
        RouterVersion(
            router=router,
            version=0,
            round=0,
            epoch=0,
            name=name,
            text=text,
            attributes=tuple(rank_by_distinctiveness(standing, case.common)[:ATTRIBUTES]),
            standing=tuple(standing.items()),
            written_by=decision.written_by,
        )
        for router, (name, text), standing in zip(after, decision.texts, standings, strict=True)
    ]
