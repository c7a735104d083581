"""Publication of an evolution in one commit.

The commit changes numbers, texts, edges and filter rules.

The caller keeps reasoning and rounds of this process out; reads, recording and learning go on.
Learning stops only at the end, while the last interactions are added, the numbers evolve, and their
barrier is staged and committed. The publication voids the work that other processes have in flight;
they do it again in the new epoch.

Source: `docs/evolution.md`.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from copy import copy
from dataclasses import dataclass, replace

from propagation.model import (
    F32,
    ClientText,
    Epoch,
    EvolutionRun,
    LeaseLost,
    Round,
    RouterMap,
    StagedCheckpoint,
    split_into_batches,
)
from propagation.numbers import State, evolve_bank, evolve_centres, evolve_seen
from propagation.optimization.router_lineage import find_moved_routers, follow_edges, follow_rules
from propagation.ports import Collection, GraphStore, IndexChange, Lease, Publication
from propagation.routing import TableChange, name_router_versions, stage_table_change
from propagation.workflow.concurrency import Activity, Exclusion, Leases
from propagation.workflow.evolve.plan import DecidedPlan, catch_up
from propagation.workflow.index.maintenance import IndexMaintenance
from propagation.workflow.index.vector_sync import CLIENTS_A_CALL, VectorSync
from propagation.workflow.learn import (
    Arrays,
    Learner,
    borrow_checkpoint,
    make_patch,
    take_checkpoint,
)
from propagation.workflow.views import ClientMemory, NumbersOwner, NumbersView

SMALL_TAIL = 500
MAX_CATCH_UPS = 8
STAGED_LAST = ("taste.", "seen_router", "near_items", "near_weights", "factors.")
"""Name prefixes of the arrays that are staged whole while learning is suspended.

They are the arrays that an evolution changes, those of the neighbours and those of the factors:
after 100,000 interactions, 2,000 more change nearly all of both.
"""


@dataclass
class Publisher:
    """Publishes evolutions, while the caller keeps reasoning and rounds out."""

    store: GraphStore
    numbers: NumbersOwner
    vectors: VectorSync
    index_maintenance: IndexMaintenance
    learner: Learner
    leases: Leases
    exclusion: Exclusion
    memory: ClientMemory

    async def publish(self, decided: DecidedPlan, epoch: Epoch) -> EvolutionRun:
        """Publish a plan and return the run as it is stored.

        Args:
            decided: The plan.
            epoch: The epoch that ends.

        Raises:
            LeaseLost: Another process learns, runs a round, or changed the routers first; nothing
                has changed.
            VersionClash: A client's text changed meanwhile; the publication changed nothing.
        """
        async with (
            self._hold_learners_lease() as learn,
            self.leases.keep_rounds_out() as rounds,
        ):
            current = await self.store.get_current_epoch()
            if current is None or current.number != epoch.number:
                raise LeaseLost(
                    "another process changed the routers after this plan was made; look at them,"
                    " and run it again"
                )
            change = await self._map(decided, epoch)
            texts = await self._follow_rules(change, decided.maps.find_undone(change))
            round_ = await self._stage_round(rounds, decided, change, epoch)
            decided = await self._catch_up(decided)
            state = await self.numbers.run(_copy_totals)
            centres = await asyncio.to_thread(_compute_centres, state, change, decided)
            before, staged = await self._stage_first(learn, epoch)
            async with self.exclusion.run(Activity.LEARN):
                await self.learner.synchronize()
                view = self.numbers.view
                decided = await catch_up(self.store, decided, view.applied_through)
                change = replace(
                    change,
                    through=decided.through,
                    start_shares=decided.shares(view.state.taste.total),
                )
                state = await asyncio.to_thread(_evolve, view.state, change, decided, centres)
                evolved = copy(view)
                evolved.evolve(state, epoch.number + 1)
                start = await self._stage_rest(learn, evolved, before, staged)
                self.learner.mark_ahead()  # first: the answer to the commit may be lost
                publication = Publication(
                    run=decided.run,
                    map=change,
                    start=start,
                    texts=texts,
                    epoch=epoch.model_copy(
                        update={
                            "number": epoch.number + 1,
                            "sequence": 0,
                            "taste_k": change.routers,
                        }
                    ),
                    round_=round_,
                )
                run = await self.store.publish_evolution(learn, rounds, publication)
                await self.numbers.run(NumbersView.evolve, state, epoch.number + 1)
                self.learner.mark_stored(run.sequence)
            # Else the next claim would begin with the older texts, and be reasoned twice.
            self.memory.forget_texts(text.profile.ref for text in texts)
        await self.index_maintenance.follow_routers()
        await self.vectors.publish(texts)
        return run

    async def _catch_up(self, decided: DecidedPlan) -> DecidedPlan:
        """Add what was learned meanwhile to the plan, until little is left.

        Learning goes on during this, and stops later only for the rest. Under much traffic the rest
        may never become small, so there are at most MAX_CATCH_UPS steps.
        """
        for _ in range(MAX_CATCH_UPS):
            through = await self.store.get_learned_through()
            if through - decided.through <= SMALL_TAIL:
                break
            decided = await catch_up(self.store, decided, through)
        return decided

    async def _map(self, decided: DecidedPlan, epoch: Epoch) -> RouterMap:
        """Build the map from routers before the evolution to those after.

        Its final `through` and its start shares are known only at the publication.
        """
        numbering = decided.numbering
        touched = sorted({router for change in numbering.changes for router in change.before})
        return numbering.to_map(
            {router: division.halves for router, division in decided.divisions.items()},
            decided.through,
            epoch.number,
            self.numbers.view.state.taste.centres.copy(),
            dict(await self.store.get_version_numbers(touched)),
            decided.run.undoes,
        )

    async def _stage_round(
        self, rounds: Lease, decided: DecidedPlan, change: RouterMap, epoch: Epoch
    ) -> Round:
        """Stage the round that carries the publication: routers' texts and their edges."""
        last = await self.store.get_last_round()
        round_ = await self.store.begin_round(rounds, last.boundary if last else 0)
        before = await self.store.get_version_numbers([text.router for text in decided.texts])
        versions = [
            replace(
                text,
                version=before.get(text.router, 0) + 1,
                round=round_.number,
                epoch=epoch.number + 1,
            )
            for text in decided.texts
        ]
        current = await self.store.get_router_versions(
            [router for router in self.numbers.view.routers if router not in change.retired]
        )
        versions = name_router_versions(current, versions)
        edges = await self._follow_edges(change)
        await self.store.stage_routers(rounds, round_, versions)
        points = [(version.router, version.version) for version in versions]
        points += [(router, change.versions.get(router, 0)) for router in sorted(change.retired)]
        await self.store.stage_changes(
            rounds, round_, [IndexChange(Collection.ROUTERS, *point) for point in points]
        )
        await stage_table_change(self.store, rounds, round_, edges)
        return round_.model_copy(
            update={
                "touched": len(versions),
                "edges_opened": len(edges.opened),
                "edges_closed": len(edges.closed),
            }
        )

    async def _stage_first(self, learn: Lease, epoch: Epoch) -> tuple[Arrays, StagedCheckpoint]:
        """Stage most arrays of the barrier, while learning goes on.

        Returns:
            These arrays by name, and the checkpoint that has them.
        """
        found = await self.numbers.run(take_checkpoint, True)
        before = {
            name: array for name, array in found.arrays.items() if not name.startswith(STAGED_LAST)
        }
        return before, await self.store.stage_checkpoint(
            learn, replace(found, epoch=epoch.number + 1, arrays=dict(before))
        )

    async def _stage_rest(
        self, learn: Lease, view: NumbersView, before: Arrays, staged: StagedCheckpoint
    ) -> StagedCheckpoint:
        """Stage the rest of the barrier.

        These are the arrays of STAGED_LAST, and the changes that were learned since.
        """
        found = await asyncio.to_thread(borrow_checkpoint, view, True)
        patch = await asyncio.to_thread(make_patch, before, found.arrays)
        return await self.store.stage_checkpoint(learn, replace(found, arrays=patch), staged)

    async def _follow_edges(self, change: RouterMap) -> TableChange:
        moved = find_moved_routers(change)
        successors = {number for router in moved for number in change.get_successors(router)}
        edges = sorted(
            await self.store.get_edges_to(sorted({*moved, *successors})),
            key=lambda edge: (edge.router, -edge.score, edge.ref),
        )
        return await asyncio.to_thread(follow_edges, change, moved, edges)

    async def _follow_rules(self, change: RouterMap, undone: RouterMap | None) -> list[ClientText]:
        """Write the next versions of clients whose rules name a moved router."""
        bootstrap = await self.store.get_bootstrap_sequence()
        refs = await self.store.get_clients_with_rules(find_moved_routers(change))
        followed: list[ClientText] = []
        for batch in split_into_batches(refs, CLIENTS_A_CALL):
            texts = await self.store.load_texts(batch)
            for text in texts.values():
                memory = follow_rules(text.filter_memory.since(bootstrap), change, undone)
                if memory is not text.filter_memory:
                    profile = replace(text.profile, version=text.profile.version + 1)
                    followed.append(replace(text, profile=profile, filter_memory=memory))
            await asyncio.sleep(0)
        return followed

    @asynccontextmanager
    async def _hold_learners_lease(self) -> AsyncIterator[Lease]:
        """Hold the learner's lease.

        The learner keeps using this lease meanwhile. The new barrier is staged under it, too.

        Raises:
            LeaseLost: Another process learns.
        """
        await self.learner.wait_for_checkpoint()
        async with AsyncExitStack() as until_published:
            async with self.exclusion.run(Activity.LEARN):
                lease = await until_published.enter_async_context(self.learner.hold_lease())
            yield lease


def _copy_totals(view: NumbersView) -> State:
    """Copy the routers' totals, which learning changes in place.

    The other arrays are shared. Of those that `evolve_centres` reads, learning changes at most rows
    of new items.
    """
    taste = view.state.taste
    return view.state._replace(taste=taste._replace(total=taste.total.copy()))


def _compute_centres(state: State, change: RouterMap, decided: DecidedPlan) -> F32:
    """Compute the routers' centres [K after, D].

    Centres that the plan has (an undo) take precedence, so that interactions learned since then do
    not move them.
    """
    centres = evolve_centres(state.taste, change, decided.masses, state.content)
    if decided.centres is not None:
        centres[: len(decided.centres)] = decided.centres[: len(centres)]
        centres[list(change.retired)] = 0
    return centres


def _evolve(state: State, change: RouterMap, decided: DecidedPlan, centres: F32) -> State:
    """Build the state with the next epoch's taste bank.

    It runs in a thread, while nothing is learned.
    """
    return state._replace(
        taste=evolve_bank(state.taste, change, decided.masses, centres),
        seen_router=evolve_seen(state.seen_router, state.seen_last, state.seen_before, change),
    )
