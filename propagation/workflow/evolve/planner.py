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
from propagation.optimization.router_lineage import number_routers
from propagation.optimization.router_merge import merge_standing
from propagation.optimization.router_rewrite import rewrite_standing
from propagation.optimization.router_split import (
    Community,
    list_supported_choices,
    split_community,
    split_router,
)
from propagation.ports import GraphStore, Reasoner
from propagation.workflow.evolve.holdout import Snapshot
from propagation.workflow.evolve.plan import ATTRIBUTES, Plan
from propagation.workflow.evolve.router_gradients import RouterGradients, list_supported_gradients
from propagation.workflow.evolve.router_survey import RouterSurvey, survey_routers
from propagation.workflow.learn.learned_blocks import sum_by_place
from propagation.workflow.settings import WorkflowSettings

TEXTS = {EvolutionKind.SPLIT: 2, EvolutionKind.MERGE: 1, EvolutionKind.REWRITE: 1}
log = logging.getLogger(__name__)


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
        survey = await survey_routers(self.store, self.settings, snapshot, gradients, maps, through)
        current = snapshot.current_routers
        draft = _PlanDraft(current, self.settings.k_most - len(current), survey.missing)
        for router in survey.choose_routers(self.settings.evolve_most):
            if self._may_ask(router, survey, draft):
                community = await asyncio.to_thread(self._find_community, router, survey, draft)
                case = await self._build_case(router, community, survey, draft)
                await self._decide(case, community, draft)
        return _finish(survey, draft)

    def _may_ask(self, router: int, survey: RouterSurvey, draft: _PlanDraft) -> bool:
        """Tell whether the reasoner is asked about a router.

        About one that was not judged often enough it is asked only while routers are superfluous.
        """
        return (
            router in draft.free
            and len(draft.cases) < self.settings.evolve_most
            and (draft.missing < 0 or router in survey.judged)
        )

    def _find_community(
        self, router: int, survey: RouterSurvey, draft: _PlanDraft
    ) -> Community | None:
        """Divide a router's writers into two halves; None if it cannot be split."""
        if draft.room <= 0 or not survey.asked[router]:
            return None
        users, _, weights = survey.written.of(router)
        seed = int(mix_seed(np.uint64(router), np.uint64(self.settings.seed))) >> 1
        amounts = sum_by_place(users, weights, len(survey.directions))
        return split_community(amounts, survey.directions, seed)

    async def _build_case(
        self, router: int, community: Community | None, survey: RouterSurvey, draft: _PlanDraft
    ) -> RouterCase:
        """Describe a router with its possible split and merge.

        The merge is with the router that costs least. What fewer than `min_support` readers chose
        is left out.
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
            draft.undecided[case.router.router] = str(error)
            log.warning("router %d stays as it is: %s", case.router.router, error)


def _finish(survey: RouterSurvey, draft: _PlanDraft) -> Plan:
    """Give the routers that the decisions make their numbers and texts."""
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
