"""Planning of an evolution (RecNet 2.4, eq. 9).

A plan says which routers are split, merged or rewritten. Gradients decide which routers the
reasoner is asked about; the reasoner decides on each.
"""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from propagation.model import (
    F32,
    F64,
    Bools,
    EvolutionChange,
    EvolutionKind,
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
    compute_merge_costs,
    compute_router_products,
    compute_router_similarities,
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
from propagation.workflow.learn import WrittenRows, gather, sum_by_place
from propagation.workflow.settings import WorkflowSettings

TEXTS = {EvolutionKind.SPLIT: 2, EvolutionKind.MERGE: 1, EvolutionKind.REWRITE: 1}
log = logging.getLogger(__name__)


@dataclass(frozen=True)
class _RouterSurvey:
    """The routers at T, before the reasoner is asked about them.

    Attributes:
        snapshot: The numbers at T.
        directions: The users' unit vectors [U, D].
        gradients: Gradients up to T, by router.
        judged: Routers that readers judged often enough.
        asked: Whether the reasoner may be asked to split a router [K].
        written: Mass written to those routers up to T.
        missing: As in RouterCase.
        costs: As of `compute_merge_costs` [K, K].
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
        """Choose the routers to ask about, in order.

        While routers are missing, those of largest mass come first. While routers are superfluous,
        those that are cheapest to merge come first, then the most blamed. Otherwise the most blamed
        come first.

        Args:
            most: How many routers the reasoner may decide on.

        Returns:
            More than `most` routers, if there are: some may drop out when their turn comes.
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


def _order_by_blame(routers: Sequence[int], gradients: Mapping[int, RouterGradients]) -> list[int]:
    return sorted(routers, key=lambda router: (-gradients[router].blamed, router))


def _order_by_mass(routers: Sequence[int], snapshot: Snapshot) -> list[int]:
    return sorted(routers, key=lambda router: (-snapshot.tastes.total[router], router))


@dataclass
class _PlanDraft:
    """The decisions so far.

    Attributes:
        free: Routers that no decision changes yet.
        room: How many more routers may be added.
        missing: As in RouterCase, after the decisions so far.
    """

    free: frozenset[int]
    room: int
    missing: int
    cases: list[tuple[RouterCase, RouterDecision]] = field(default_factory=list)
    changes: list[EvolutionChange] = field(default_factory=list)
    communities: dict[int, Community] = field(default_factory=dict)
    undecided: dict[int, str] = field(default_factory=dict)

    def add(self, case: RouterCase, decision: RouterDecision, community: Community | None) -> None:
        """Add a decision to the draft.

        Args:
            community: The halves that a split would make; None if the router cannot be split.

        Raises:
            ReasonerFailed: The decision cannot be carried out.
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
    """Asks the reasoner which routers to split, merge or rewrite.

    It asks about routers that readers judged often enough and, while routers are superfluous, about
    others that are cheap to merge.
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
            snapshot: The numbers, taken back to T.
            gradients: Gradients up to T, by current router.
            maps: The router maps of the earlier runs.
            through: T.
        """
        survey = await self._survey(snapshot, gradients, maps, through)
        current = snapshot.current_routers
        draft = _PlanDraft(current, self.settings.k_most - len(current), survey.missing)
        for router in survey.choose_routers(self.settings.evolve_most):
            if self._may_ask(router, survey, draft):
                community = await asyncio.to_thread(self._find_community, router, survey, draft)
                case = await self._build_case(router, community, survey, draft)
                await self._decide(case, community, draft)
        return _finish(survey, draft)

    async def _survey(
        self,
        snapshot: Snapshot,
        gradients: Mapping[int, RouterGradients],
        maps: RouterMaps,
        through: int,
    ) -> _RouterSurvey:
        """Survey the routers at T, before the reasoner is asked about any."""
        current = snapshot.current_routers
        judged = [
            router
            for router, found in gradients.items()
            if router in current
            and len(found.choices) >= self.settings.min_support
            and found.praised + found.blamed >= self.settings.evolve_support
        ]
        size = 2 * self.settings.evolve_most
        asked = np.zeros(snapshot.routers, np.bool_)
        asked[
            _order_by_mass(judged, snapshot)[:size] + _order_by_blame(judged, gradients)[:size]
        ] = True
        written = WrittenRows()
        await gather(self.store, maps, written, asked, through)
        total = snapshot.tastes.total
        products = await asyncio.to_thread(
            compute_router_products,
            snapshot.mass,
            total,
            snapshot.adoptions,
            snapshot.tastes.totals,
        )
        # A router without a stored version counts as version 0, with an empty text.
        versions = {
            number: RouterVersion(router=number, version=0, round=0, epoch=0, name="", text="")
            for number in range(snapshot.routers)
        }
        texts = await self.store.get_router_versions(range(snapshot.routers))
        return _RouterSurvey(
            snapshot,
            snapshot.directions,
            gradients,
            judged,
            asked,
            written,
            missing=await asyncio.to_thread(self._count_missing, written, len(current)),
            costs=compute_merge_costs(products, total),
            similarities=compute_router_similarities(products),
            versions=versions | {text.router: text for text in texts},
            common=compute_mean_shares([dict(text.standing) for text in texts]),
        )

    def _count_missing(self, written: WrittenRows, routers: int) -> int:
        """Count how many routers are missing (above 0) or superfluous (below 0).

        Routers are missing if there are fewer than evident communities, and superfluous if there
        are more than possible communities (RouterCase.missing).
        """
        if not written.pairs:
            return 0
        users, items = (np.concatenate(rows) for rows in zip(*written.pairs, strict=True))
        evident, possible = count_communities(
            users, items, self.settings.k_most, self.settings.seed
        )
        return max(evident - routers, 0) or min(possible - routers, 0)

    def _may_ask(self, router: int, survey: _RouterSurvey, draft: _PlanDraft) -> bool:
        """Tell whether the reasoner is asked about a router.

        The router must be unchanged so far, and fewer than `evolve_most` decisions made. A router
        that was not judged often enough is asked about only while routers are superfluous.
        """
        return (
            router in draft.free
            and len(draft.cases) < self.settings.evolve_most
            and (draft.missing < 0 or router in survey.judged)
        )

    def _find_community(
        self, router: int, survey: _RouterSurvey, draft: _PlanDraft
    ) -> Community | None:
        """Divide a router's writers into halves; None if that is impossible."""
        if draft.room <= 0 or not survey.asked[router]:
            return None
        users, _, weights = survey.written.of(router)
        seed = int(mix_seed(np.uint64(router), np.uint64(self.settings.seed))) >> 1
        amounts = sum_by_place(users, weights, len(survey.directions))
        return split_community(amounts, survey.directions, seed)

    async def _build_case(
        self, router: int, community: Community | None, survey: _RouterSurvey, draft: _PlanDraft
    ) -> RouterCase:
        """Describe a router with its possible split and merge.

        The merge is with the router that costs least to merge with. Attributes and items that too
        few readers or users chose (`min_support`) are left out.
        """
        least = self.settings.min_support
        version = survey.versions[router]
        found = survey.gradients.get(router, RouterGradients())
        others = sorted(draft.free - {router})
        cheapest = min(others, key=survey.costs[router].__getitem__, default=None)
        nearest = None if cheapest is None else survey.versions[cheapest]
        return RouterCase(
            router=version,
            gradients=await list_supported_gradients(
                self.store, found, survey.snapshot.adoptions, least
            ),
            praised=found.praised,
            blamed=found.blamed,
            choices=await asyncio.to_thread(list_supported_choices, found.choices.values(), least),
            common=survey.common,
            halves=await asyncio.to_thread(split_router, version, found.choices, community, least)
            if community
            else None,
            distance=community.distance if community else 0.0,
            nearest=nearest,
            similarity=-1.0 if cheapest is None else float(survey.similarities[router, cheapest]),
            merged_standing=None if nearest is None else merge_standing([version, nearest]),
            missing=draft.missing,
        )

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
            draft.undecided[case.router.router] = error.public_reason
            log.warning("router %d stays as it is: %s", case.router.router, error)


def _finish(survey: _RouterSurvey, draft: _PlanDraft) -> Plan:
    """Build the plan: number the resulting routers, and write their texts."""
    numbering = number_routers(draft.changes, survey.snapshot.routers, survey.snapshot.retired)
    texts = [
        text
        for (case, decision), change in zip(draft.cases, numbering.changes, strict=True)
        for text in _assign_texts(case, decision, change.after)
    ]
    return Plan(
        numbering,
        texts,
        draft.communities,
        survey.written,
        survey.asked,
        draft.undecided,
        max(-survey.missing, 0),
    )


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
        raise ReasonerFailed(f"the reasoner's answer cannot be carried out as a {kind}")
    before = {case.router.router}
    if kind == EvolutionKind.MERGE and case.nearest is not None:
        before.add(case.nearest.router)
    return EvolutionChange(
        kind=kind, before=tuple(sorted(before)), after=(), reason=decision.reason
    )


def _assign_texts(
    case: RouterCase, decision: RouterDecision, after: Sequence[int]
) -> list[RouterVersion]:
    """Build the version of each router that a decision makes.

    Args:
        after: The numbers of these routers.
    """
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
