"""Evolution of the routers (RecNet 2.4; Algorithm 1, line 15).

A run is planned from gradients, judged on the holdout and published as a new epoch; an undo is one
more run.
"""

import asyncio
from contextlib import suppress
from dataclasses import dataclass

from propagation.model import Epoch, EvolutionRun, RouterMaps
from propagation.optimization.holdout_judge import Verdict
from propagation.ports import (
    GraphStore,
    ModelWork,
    VersionClash,
    asking_for,
    normalize_rows,
    texts_read_after,
)
from propagation.workflow.concurrency import Activity, Exclusion, run_to_end
from propagation.workflow.evolve.holdout import (
    Holdout,
    Snapshot,
    judge_plan,
    load_holdout,
    rewind_snapshot,
    take_snapshot,
)
from propagation.workflow.evolve.plan import DecidedPlan, Plan
from propagation.workflow.evolve.planner import Planner
from propagation.workflow.evolve.publication import Publisher
from propagation.workflow.evolve.router_gradients import load_router_gradients
from propagation.workflow.evolve.undo_planner import plan_undo
from propagation.workflow.learn import Learner, gather
from propagation.workflow.settings import WorkflowSettings
from propagation.workflow.views import NumbersOwner

PUBLISH_ATTEMPTS = 3
NEWEST_RUNS = 1_000
TOO_LITTLE = (
    "too little to judge by: among the newest interactions since the routers were last changed,"
    " those with a prediction come from fewer than two users"
)


@dataclass
class Evolution:
    """Runs evolutions; the caller starts only one at a time.

    Learning stops while the numbers are copied for a plan. Reasoning and rounds stop during a
    publication, and learning stops at its end.
    """

    store: GraphStore
    numbers: NumbersOwner
    learner: Learner
    settings: WorkflowSettings
    exclusion: Exclusion
    planner: Planner
    publisher: Publisher

    async def run(self, *, dry_run: bool) -> EvolutionRun:
        """Plan, judge, and publish the plan if it is no worse.

        A dry run stores and publishes nothing.
        """
        epoch = await self.store.get_current_epoch()
        if epoch is None:
            run = EvolutionRun(verdict="nothing to evolve before the first bootstrap")
            return await self._save(run, dry_run)
        await self._synchronize()  # another process may have evolved the routers
        maps = await self.store.get_router_maps()
        plan, verdict, run = await self._plan_and_judge(maps, epoch)
        if dry_run or verdict is None or not verdict.published:
            return await self._save(run, dry_run)
        await gather(self.store, maps, plan.written, plan.asked, await self._synchronize())
        directions, items = await self.numbers.run(
            lambda view: (normalize_rows(view.state.user_content[: view.users]), view.items)
        )
        decided = DecidedPlan(
            run,
            plan.numbering,
            await asyncio.to_thread(plan.divide, directions, items),
            plan.texts,
            maps,
            plan.written.through,
            plan.written.totals,
        )
        return await self._publish(decided, epoch)

    async def undo(self, number: int, *, dry_run: bool) -> EvolutionRun:
        """Undo a published run by publishing its reverse as a new run.

        Raises:
            InvalidInput: The run cannot be undone, or a later run must be undone first.
        """
        epoch = await self.store.get_current_epoch()
        through = await self._synchronize()
        decided = await plan_undo(self.store, self.numbers.view, number, through)
        return decided.run if dry_run or epoch is None else await self._publish(decided, epoch)

    async def is_due_before_round(self) -> bool:
        """Tell whether at least `evolve_every_rounds` rounds passed since the last run.

        It is never so without this setting, or before a bootstrap.
        """
        every = self.settings.evolve_every_rounds
        if every is None or self.numbers.view.epoch == 0:
            return False
        runs = await self.store.get_evolution_runs(1)
        return await self._get_last_round() - (runs[0].round if runs else 0) >= every

    async def _plan_and_judge(
        self, maps: RouterMaps, epoch: Epoch
    ) -> tuple[Plan, Verdict | None, EvolutionRun]:
        """Plan and judge; if there is no verdict, the run says why."""
        last_withdrawal = await self.store.get_last_withdrawal()
        snapshot, holdout = await self._take_snapshot()
        gradients = await load_router_gradients(
            self.store, maps, await self._get_used_through(), holdout.judged_from, epoch.era
        )
        await asyncio.to_thread(rewind_snapshot, snapshot)
        with texts_read_after(last_withdrawal), asking_for(ModelWork.ROUTERS):
            plan = await self.planner.plan(snapshot, gradients, maps, holdout.judged_from)
        run = EvolutionRun(changes=plan.numbering.changes, judged_from=holdout.judged_from)
        if not run.changes:
            return plan, None, run.model_copy(update={"verdict": _find_reason_for_no_change(plan)})
        verdict = await asyncio.to_thread(judge_plan, plan, snapshot, holdout)
        if verdict is None:
            return plan, None, run.model_copy(update={"verdict": TOO_LITTLE})
        return (
            plan,
            verdict,
            run.model_copy(
                update={
                    "verdict": verdict.verdict,
                    "users": verdict.users,
                    "interactions": verdict.interactions,
                    "log_loss_before": verdict.before,
                    "log_loss_after": verdict.after,
                    "standard_error": verdict.standard_error,
                }
            ),
        )

    async def _take_snapshot(self) -> tuple[Snapshot, Holdout]:
        """Copy the numbers and load the holdout at one sequence.

        Nothing is learned meanwhile.
        """
        async with self.exclusion.run(Activity.LEARN):
            view = self.numbers.view
            holdout = await load_holdout(
                self.store, view.applied_through, view.epoch, self.settings.holdout
            )
            return await self.numbers.run(take_snapshot, holdout), holdout

    async def _get_used_through(self) -> int:
        """Return the sequence from which the last published run was judged.

        Gradients up to this sequence are used up: that run was planned from them. It is 0 if no run
        was published.
        """
        return next(
            (
                run.judged_from
                for run in await self.store.get_evolution_runs(NEWEST_RUNS)
                if run.published and run.judged_from is not None
            ),
            0,
        )

    async def _synchronize(self) -> int:
        """Bring the view up to the learned sequence, and return that sequence.

        The view then has a row for every client up to it, also if another process learns. A dry run
        may be cancelled, and the view must not be left between two blocks then.
        """
        through = await self.store.get_learned_through()
        await run_to_end(self._synchronize_view())
        return through

    async def _synchronize_view(self) -> None:
        async with self.exclusion.run(Activity.LEARN):
            await self.learner.synchronize()

    async def _publish(self, decided: DecidedPlan, epoch: Epoch) -> EvolutionRun:
        """Publish the plan, and try again after a version clash.

        A clash means that a read merged messages into the profile of a client whose filter rules
        the publication changes.
        """
        async with self.exclusion.run(Activity.PUBLISH_EVOLUTION):
            for _ in range(PUBLISH_ATTEMPTS - 1):
                with suppress(VersionClash):
                    return await self.publisher.publish(decided, epoch)
            return await self.publisher.publish(decided, epoch)

    async def _save(self, run: EvolutionRun, dry_run: bool) -> EvolutionRun:
        """Store a run that publishes nothing, unless it is a dry run."""
        if dry_run:
            return run
        return await self.store.save_evolution(
            run.model_copy(update={"round": await self._get_last_round()})
        )

    async def _get_last_round(self) -> int:
        last = await self.store.get_last_round()
        return last.number if last else 0


def _find_reason_for_no_change(plan: Plan) -> str:
    """Say why nothing changes: no router asks, or the reasoner failed."""
    if not plan.undecided:
        return "no router asks for a change"
    router, reason = next(iter(plan.undecided.items()))
    return (
        f"nothing changes: the reasoner did not decide on {len(plan.undecided)} of the routers that"
        f" it was asked about (router {router}: {reason})"
    )
