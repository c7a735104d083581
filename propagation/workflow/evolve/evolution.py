"""Evolution (RecNet 2.4; Algorithm 1, line 15): plan from gradients, judge on the holdout, publish
as a new epoch; and undo."""

import asyncio

import numpy as np
from numpy.typing import NDArray

from propagation.model.routers.epoch import Epoch
from propagation.model.routers.evolution import EvolutionRun
from propagation.model.routers.router import RouterVersion
from propagation.model.routers.router_maps import RouterMaps
from propagation.ports.graph.graph_store import GraphStore, VersionClash
from propagation.ports.reasoner import Reasoner
from propagation.workflow.concurrency.exclusion import Activity, Exclusion
from propagation.workflow.concurrency.leases import Leases
from propagation.workflow.evolve.decided_plan import DecidedPlan
from propagation.workflow.evolve.holdout import (
    Holdout,
    Snapshot,
    load_holdout,
    rewind_snapshot,
    take_snapshot,
    unit_rows,
)
from propagation.workflow.evolve.plan_judge import judge_plan
from propagation.workflow.evolve.planner import Plan, Planner
from propagation.workflow.evolve.publication import Publisher
from propagation.workflow.evolve.router_gradients import load_router_gradients
from propagation.workflow.evolve.undo_planner import UndoPlanner
from propagation.workflow.index.maintenance import IndexMaintenance
from propagation.workflow.index.vector_sync import VectorSync
from propagation.workflow.learn.learned_weights import gather
from propagation.workflow.learn.learner import Learner
from propagation.workflow.settings import WorkflowSettings
from propagation.workflow.views.numbers_owner import NumbersOwner
from propagation.workflow.views.numbers_view import NumbersView

REDONE = 3
RUNS_LOOKED_AT = 1_000
NOT_YET = "routers evolve after bootstrap"
NOTHING = "no router asks for a change"
TOO_LITTLE = "too little to judge by: fewer than two users have chosen anything since the routers were last changed"


class Evolution:
    """Runs evolutions; the caller sees to it that there is one at a time.

    Planning keeps learning out for as long as a copy of the numbers takes; publishing keeps
    reasoning and rounds out, and learning at the end of it.
    """

    def __init__(
        self,
        store: GraphStore,
        reasoner: Reasoner,
        numbers: NumbersOwner,
        vectors: VectorSync,
        upkeep: IndexMaintenance,
        learner: Learner,
        settings: WorkflowSettings,
        exclusion: Exclusion,
        leases: Leases,
    ) -> None:
        self._store = store
        self._numbers = numbers
        self._learner = learner
        self._settings = settings
        self._exclusion = exclusion
        self._planner = Planner(store, reasoner, settings)
        self._publisher = Publisher(store, numbers, vectors, upkeep, learner, leases, exclusion)
        self._undo_planner = UndoPlanner(store, numbers)

    async def run(self, *, dry_run: bool) -> EvolutionRun:
        """Plan, judge, and publish what is no worse. A dry run stores nothing."""
        epoch = await self._store.current_epoch()
        if epoch is None:
            return await self._kept(EvolutionRun(verdict=NOT_YET), dry_run)
        maps = await self._store.router_maps()
        snapshot, holdout = await self._look()
        versions = await self._versions(snapshot.routers)
        gradients = await load_router_gradients(
            self._store, maps, await self._gathered_through(), holdout.judged_from, epoch.era
        )
        await asyncio.to_thread(rewind_snapshot, snapshot)
        plan = await self._planner.plan(snapshot, gradients, versions, maps, holdout.judged_from)
        run = EvolutionRun(changes=plan.numbering.changes, judged_from=holdout.judged_from)
        if not run.changes:
            return await self._kept(
                run.model_copy(update={"verdict": _undecided(plan) or NOTHING}), dry_run
            )
        judged = await asyncio.to_thread(judge_plan, plan, snapshot, holdout)
        if judged is None:
            return await self._kept(run.model_copy(update={"verdict": TOO_LITTLE}), dry_run)
        run = run.model_copy(
            update={
                "verdict": judged.verdict,
                "users": judged.users,
                "interactions": judged.interactions,
                "log_loss_before": judged.before,
                "log_loss_after": judged.after,
                "standard_error": judged.standard_error,
            }
        )
        if dry_run or not judged.published:
            return await self._kept(run, dry_run)
        del snapshot
        return await self._publish(plan, run, maps, epoch)

    async def due_before_round(self) -> bool:
        """Whether there were `evolve_every_rounds` rounds since the last run (Algorithm 1, line
        15)."""
        every = self._settings.evolve_every_rounds
        if every is None or self._numbers.view.epoch == 0:
            return False
        runs = await self._store.evolution_runs(1)
        return await self._round() - (runs[0].round if runs else 0) >= every

    async def _round(self) -> int:
        last = await self._store.last_round()
        return last.number if last else 0

    async def undo(self, number: int, *, dry_run: bool) -> EvolutionRun:
        """One more run that leads back. Raises InvalidInput where this one cannot be undone, or not
        before another one."""
        epoch = await self._store.current_epoch()
        decided = await self._undo_planner.plan(number, await self._followed())
        if dry_run or epoch is None:
            return decided.run.model_copy(update={"changes": decided.numbering.changes})
        return await self._published(decided, epoch)

    async def _look(self) -> tuple[Snapshot, Holdout]:
        """The copy and its holdout at one sequence: nobody learns between the two."""
        async with self._exclusion.run(Activity.LEARN):
            view = self._numbers.view
            holdout = await load_holdout(
                self._store, view.applied_through, view.epoch, self._settings.holdout
            )
            return await self._numbers.run(take_snapshot, holdout), holdout

    async def _versions(self, routers: int) -> dict[int, RouterVersion]:
        return {
            version.router: version for version in await self._store.router_versions(range(routers))
        }

    async def _gathered_through(self) -> int:
        """Gradients up to here have done their work: T of the last run that was published."""
        runs = await self._store.evolution_runs(RUNS_LOOKED_AT)
        return next(
            (run.judged_from for run in runs if run.published and run.judged_from is not None), 0
        )

    async def _publish(
        self, plan: Plan, run: EvolutionRun, maps: RouterMaps, epoch: Epoch
    ) -> EvolutionRun:
        """What is in the store, which the view may be a block ahead of."""
        await gather(self._store, maps, plan.written, plan.asked, await self._followed())
        directions, items = await self._numbers.run(_directions_and_items)
        divisions = await asyncio.to_thread(plan.divide, directions, items)
        decided = DecidedPlan(
            run,
            plan.numbering,
            divisions,
            plan.texts,
            maps,
            plan.written.through,
            plan.written.totals,
        )
        return await self._published(decided, epoch)

    async def _followed(self) -> int:
        """What the store has learned up to here names nobody that the view has no row of, also
        where another process learns."""
        through = await self._store.learned_through()
        async with self._exclusion.run(Activity.LEARN):
            await self._learner.synchronize()
        return through

    async def _published(self, decided: DecidedPlan, epoch: Epoch) -> EvolutionRun:
        """A reader may merge messages into a client whose rules follow: then the texts are made
        once more."""
        async with self._exclusion.run(Activity.PUBLISH_EVOLUTION):
            for attempt in range(REDONE):
                try:
                    run, _ = await self._publisher.publish(decided, epoch)
                except VersionClash:
                    if attempt == REDONE - 1:
                        raise
                else:
                    return run
        raise AssertionError("unreachable")

    async def _kept(self, run: EvolutionRun, dry_run: bool) -> EvolutionRun:
        return (
            run
            if dry_run
            else await self._store.save_evolution(
                run.model_copy(update={"round": await self._round()})
            )
        )


def _directions_and_items(view: NumbersView) -> tuple[NDArray[np.float32], int]:
    return unit_rows(view.state.user_content[: view.users]), view.items


def _undecided(plan: Plan) -> str:
    """A failure is no decision; "" where there was none."""
    if not plan.undecided:
        return ""
    router, reason = next(iter(plan.undecided.items()))
    return (
        f"nothing changes: the reasoner did not decide on {len(plan.undecided)} of the routers that it was asked about (router"
        f" {router}: {reason})"
    )
