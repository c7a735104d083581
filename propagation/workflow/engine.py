"""The engine of one process: everything that services, replays and tests ask of the library."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Concatenate, ParamSpec, TypeVar

from propagation.model import (
    NO_EXPENSES,
    ClientChange,
    ClientKey,
    ClientKind,
    ClientOutcome,
    Epoch,
    EvolutionRun,
    Expenses,
    Gauge,
    IncompatibleSettings,
    NewInteraction,
    NotFound,
    Round,
    index_of,
)
from propagation.ports import Embedder, GraphStore, Reasoner, RecordResult, VectorIndex
from propagation.workflow.bootstrap.new_epoch import OnStep, ignore_step
from propagation.workflow.bootstrap.stage0 import Stage0
from propagation.workflow.concurrency import Activity, Exclusion, Leases
from propagation.workflow.data_settings import OpenData
from propagation.workflow.evolve.evolution import Evolution
from propagation.workflow.forget.client_export import export_lines
from propagation.workflow.forget.forgetting import ErasureResult, Forgetting, RetractionResult
from propagation.workflow.forget.retention import Retention
from propagation.workflow.history.profile_reader import ProfileReader, ProfileReading
from propagation.workflow.history.time_travel import TimeTravel
from propagation.workflow.history.trace import Tracer
from propagation.workflow.index.maintenance import IndexMaintenance
from propagation.workflow.index.repair import OnProgress, no_progress
from propagation.workflow.index.vector_sync import VectorSync
from propagation.workflow.learn.gauge import read_gauge
from propagation.workflow.learn.item_embedding import RefusedTexts
from propagation.workflow.learn.learner import Learner
from propagation.workflow.learn.rebuild import rebuild
from propagation.workflow.read.reasoner_ranking import ReasonerRanking
from propagation.workflow.read.recommend import Recommendations, Recommender, RecommendRequest
from propagation.workflow.read.similar_clients import By, Neighbours, SimilarClients
from propagation.workflow.reason.cold_start import ColdStart
from propagation.workflow.reason.pipeline import Pipeline
from propagation.workflow.reason.reason_step import CLAIM, Reasoning
from propagation.workflow.replica_sync import ReplicaSync
from propagation.workflow.rounds.round import PropagationRound
from propagation.workflow.settings import WorkflowSettings
from propagation.workflow.views import (
    Catalogue,
    NumbersOwner,
    NumbersView,
    PendingEvents,
    ReasonedWatermark,
)
from propagation.workflow.warm_up import warm_up

P = ParamSpec("P")
T = TypeVar("T")
Reach = Callable[[Callable[[], Awaitable[None]]], Awaitable[None]]


async def reach_once(open_part: Callable[[], Awaitable[None]]) -> None:
    """Open a part without waiting for a server that does not answer."""
    await open_part()


@dataclass(kw_only=True)
class Engine:
    """Algorithm 1 over one graph: record, learn, reason, rounds, evolution, withdrawal and reads.

    `compose` builds it. Services use its methods and its settings, and take `store`, `past` and
    `tracer` to look records up. The other parts are for the engine itself and for tests.
    """

    store: GraphStore
    embedder: Embedder
    index: VectorIndex
    reasoner: Reasoner
    settings: WorkflowSettings
    leases: Leases
    exclusion: Exclusion
    data: OpenData
    numbers: NumbersOwner
    catalogue: Catalogue
    pending_events: PendingEvents
    reasoned: ReasonedWatermark
    vectors: VectorSync
    upkeep: IndexMaintenance
    learner: Learner
    refused_texts: RefusedTexts
    cold_start: ColdStart
    reasoning: Reasoning
    rounds: PropagationRound
    evolution: Evolution
    forgetting: Forgetting
    retention: Retention
    stage0: Stage0
    replica_sync: ReplicaSync
    recommender: Recommender
    ranking: ReasonerRanking
    similar: SimilarClients
    profiles: ProfileReader
    past: TimeTravel
    tracer: Tracer
    _store_opened: bool = False

    # Start and stop

    async def open(self, *, adopt: bool = False, reach: Reach = reach_once) -> None:
        """Open the store and bring the numbers to where the log ends.

        Args:
            adopt: Open data that was made with other settings too; `init` must then be called
                before anything else.
            reach: Opens the parts for which a server may have to answer (the store, the embedder);
                a service waits for it.

        Raises:
            IncompatibleSettings: The data was made with other settings, and `adopt` is not set.
        """
        await asyncio.to_thread(warm_up)
        await reach(self.store.open)
        self._store_opened = True
        await self.data.restore(adopt=adopt)
        await self.cold_start.open(await self.store.learned_through())
        learned = await self.store.learned_through()
        await asyncio.gather(
            self.catalogue.load(self.store),
            *(() if self.data.outdated else (reach(self.learner.open),)),
        )
        await self.replica_sync.open(max(learned, self.applied_through))
        await self.vectors.canonical.load()
        await reach(self.stage0.open_index)
        await reach(self.forgetting.wipe_if_due)

    def stop_within(self, seconds: float) -> None:
        """Give models so many seconds for open questions, and ask them no more.

        What waits for an answer goes on after the next start.
        """
        self.reasoning.drafting.shorten_wait()
        self.reasoner.stop_within(seconds)
        self.embedder.stop_within(seconds)

    async def close(self) -> None:
        """Close everything, also after an `open` that failed."""
        if self._store_opened:  # these leave something in the store
            await self.reasoning.close()
            await self.reasoner.close()
            await self.embedder.close()
            await self.learner.close()
            await self.upkeep.close()
        self.numbers.close()
        await self.store.close()

    # Record

    async def upsert_clients(self, changes: Sequence[ClientChange]) -> Sequence[ClientOutcome]:
        """Create or change clients."""
        outcomes = await self.store.upsert_clients(changes)
        for change, outcome in zip(changes, outcomes, strict=True):
            if outcome.changed and change.hidden is not None and change.key.kind == ClientKind.ITEM:
                self.catalogue.hide(
                    index_of(outcome.ref), outcome.sequence if change.hidden else None
                )
        for sequence in {
            outcome.sequence for outcome in outcomes if outcome.changed or outcome.created
        }:
            self.pending_events.note_entry(sequence)
        return outcomes

    async def record(self, events: Sequence[NewInteraction]) -> RecordResult:
        """Record interactions; they are durable when this returns."""
        recorded = await self.store.record(events, auto_create=self.settings.auto_create)
        self.pending_events.add_recorded(events, recorded.outcomes, entries=bool(recorded.created))
        return recorded

    # Learn, reason, rounds

    async def learn(self) -> int:
        """Learn the next entries of the log, and bootstrap once the catalogue is large enough.

        Returns:
            How many log entries were covered.
        """
        async with self.exclusion.run(Activity.LEARN):
            covered = await self.learner.step()
            await self.replica_sync.follow_embedder()
        self.pending_events.drop_learned(self.applied_through)
        if covered:
            await self.stage0.run_first_if_due()
        return covered

    async def reason(self, limit: int = CLAIM, *, shown: bool = True) -> int:
        """Describe clients that are new or changed, then reason a claim of interactions.

        Args:
            limit: The most interactions of the claim.
            shown: Wait until the view and the index have the texts. Otherwise they follow while
                the next claim is reasoned.

        Returns:
            How many texts and interactions that were.
        """
        async with self.exclusion.run(Activity.REASON):
            done = await self.cold_start.describe() + await self.reasoning.step(limit)
            if shown:
                await self.reasoning.wait_for_views()
            return done

    async def replay_dead_letters(self) -> tuple[int, int]:
        """Try one claim of dead letters again, marked late; return (mended, failed again)."""
        async with self.exclusion.run(Activity.REPLAY_DEAD_LETTERS):
            return await self.reasoning.replay_dead_letters()

    async def round_is_due(self) -> bool:
        """Return whether enough clients have changed since the last round."""
        clients = self.numbers.view.users + self.numbers.view.items
        return await self.rounds.trigger.is_due(clients)

    async def run_round(self) -> Round | None:
        """Run a round now, whether due or not.

        Returns:
            The round, or None if nothing had changed or propagation is off.

        Raises:
            LeaseHeld: Another process runs one.
        """
        if not self.settings.propagate:
            return None
        if await self.evolution.due_before_round():
            await self.evolve()
        async with self.exclusion.run(Activity.ROUND):
            await self.reasoning.wait_for_views()
            return await self.rounds.run()

    async def drain(self) -> None:
        """Learn, reason and run due rounds until nothing waits."""
        while await self.learn():
            pass
        while await self.reason():
            if self.settings.propagate and await self.round_is_due():
                await self.run_round()

    # Routers

    async def init(self, on_step: OnStep = ignore_step) -> Epoch:
        """Run stage 0 now and open an epoch; reads and recording go on meanwhile.

        Raises:
            LeaseLost: Another process learns.
        """
        epoch = await self.stage0.run(on_step, first=False)
        assert epoch is not None, "not only the first one"
        return epoch

    async def evolve(self, *, dry_run: bool = False, undo: int | None = None) -> EvolutionRun:
        """Evolve the routers now (RecNet 2.4); everything but the publication overlaps learning.

        Args:
            dry_run: Say what would be done, and change nothing.
            undo: Lead this run back instead.

        Raises:
            InvalidInput: The run cannot be undone.
            LeaseLost: Another process learns or runs a round.
            IncompatibleSettings: Propagation is off; a dry run and an undo are still possible.
        """
        if not (self.settings.propagate or dry_run or undo):
            raise IncompatibleSettings(
                "propagation is switched off (the setting propagate), so nothing is evolved; a dry"
                " run says what would change"
            )
        async with self.exclusion.run(Activity.EVOLVE):
            if undo is not None:
                return await self.evolution.undo(undo, dry_run=dry_run)
            return await self.evolution.run(dry_run=dry_run)

    # Withdrawal

    async def retract(self, event_ids: Sequence[str]) -> RetractionResult:
        """Withdraw events with everything they wrote; see Forgetting.retract."""
        return await self.forgetting.retract(event_ids)

    async def forget(self, key: ClientKey, *, wipe: bool = False) -> ErasureResult:
        """Erase everything of a client; see Forgetting.forget."""
        return await self.forgetting.forget(key, wipe=wipe)

    def export_client(self, key: ClientKey) -> AsyncIterator[str]:
        """Yield everything that is stored of a client, as lines of JSON."""
        return export_lines(self.forgetting.store, self.numbers, key)

    # Read

    async def recommend(self, request: RecommendRequest) -> Recommendations:
        """Rank items for a user by the numbers."""
        return await self.recommender.recommend(request)

    async def rerank(
        self, user_id: str, answer: Recommendations, seconds: float | None
    ) -> Recommendations:
        """Let the reasoner order the first items of an answer, if it does so in time."""
        return await self.ranking.rerank(user_id, answer, seconds)

    async def neighbours(self, ref: int, kind: ClientKind, by: By, limit: int) -> Neighbours:
        """Find the clients of a kind that are most similar to this one."""
        return await self.similar.find_similar(ref, kind, by, limit)

    async def profile(self, ref: int, *, as_of: int | None = None) -> ProfileReading:
        """Read a profile as it stands, or as it was at a sequence that is kept."""
        return await (
            self.profiles.read_current(ref) if as_of is None else self.profiles.read_at(ref, as_of)
        )

    async def merged_profile(self, ref: int) -> ProfileReading:
        """Merge the messages that wait for a client, and read the profile."""
        return await self.profiles.read_merged(ref)

    # Maintenance

    async def follow(self) -> int:
        """Apply what other processes committed; return how much that was."""
        return await self.replica_sync.step()

    async def retain(self) -> bool:
        """Run one step of retention, or embed refused texts again; return whether any was due."""
        return await self.retention.step() is not None or await self.refused_texts.step() > 0

    async def update_index(self) -> int:
        """Carry changes that the vector index missed from the outbox; return how many."""
        if not await self.upkeep.due():
            return 0
        async with self.exclusion.run(Activity.UPDATE_INDEX):
            await self.reasoning.wait_for_views()
            return await self.upkeep.step()

    async def reindex(self, progress: OnProgress = no_progress) -> int:
        """Make the vector index again from the graph; return how many points it has."""
        return await self.stage0.reindex(progress)

    async def rebuild(self) -> int:
        """Compute the numbers again from the log, as the newest checkpoint; return its sequence.

        Raises:
            StoreBusy: Another process learns.
        """
        return await rebuild(self.store, self.embedder, self.data.first_view(), self.leases)

    # Status

    @property
    def applied_through(self) -> int:
        """Return the sequence up to which the numbers reflect the log."""
        return self.numbers.view.applied_through

    async def reach_numbers(self, sequence: int, seconds: float) -> None:
        """Wait until the numbers reflect `sequence`. Raises NotReached after so many seconds."""
        await self.numbers.reach(sequence, seconds)

    async def reasoned_through(self, *, exact: bool = False) -> int:
        """Return the sequence up to which texts are reasoned; up to 0.05 s old unless `exact`."""
        return await (self.store if exact else self.reasoned).reasoned_through()

    async def learned_through(self) -> int:
        """Return the sequence up to which any process has learned."""
        return await self.store.learned_through()

    async def evolution_runs(self, limit: int, before: int | None = None) -> Sequence[EvolutionRun]:
        """Return the newest evolutions, newest first, of those before a run."""
        return await self.store.evolution_runs(limit, before)

    async def dead_letters(self, limit: int) -> Sequence[tuple[int, str]]:
        """Return the oldest dead letters: sequence, and why the reasoner failed."""
        return await self.store.dead_letters(limit)

    async def check_store(self) -> Sequence[str]:
        """Check the stored records against each other; return what is wrong."""
        return await self.store.check()

    async def read_numbers(
        self, work: Callable[Concatenate[NumbersView, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Run a function that reads the numbers view on the thread that owns it."""
        return await self.numbers.run(work, *args, **kwargs)

    async def find_ref(self, key: ClientKey) -> int:
        """Return a client's number. Raises NotFound."""
        (ref,) = await self.store.find_refs([key])
        if ref is None:
            raise NotFound(key.kind.name.lower(), key.id)
        return ref

    async def gauge(self) -> Gauge | None:
        """Return what propagation is worth on the running stream.

        None before the first interaction with a negative.
        """
        return await self.numbers.run(read_gauge)

    @property
    def expenses(self) -> Expenses:
        """Return the models' cost and budgets.

        A reasoner's expenses contain those of its embedder; those of an embedder alone count if
        the reasoner has none.
        """
        found = self.reasoner.expenses
        return self.embedder.expenses if found == NO_EXPENSES else found

    @property
    def routers(self) -> Sequence[int]:
        """Return the numbers of the taste routers that exist."""
        return self.numbers.view.routers

    @property
    def postponed_routers(self) -> dict[int, str]:
        """Return the routers that the last round left out, and why."""
        return self.rounds.postponed

    @property
    def index_problem(self) -> str:
        """Return why the vector index is not written to now; empty while it is."""
        return self.upkeep.problem

    @property
    def index_repairs(self) -> int:
        """Return how many points of the index were repaired at start."""
        return self.upkeep.repaired

    async def synchronize_numbers(self) -> None:
        """Bring the numbers to the end of the learned blocks, as a step of the learner would."""
        await self.learner.synchronize()

    @property
    def reasoner_name(self) -> str:
        """Return the name of the reasoner."""
        return self.reasoner.name

    @property
    def embedder_name(self) -> str:
        """Return the name of the embedder, which includes its fitted state."""
        return self.embedder.name

    @property
    def pause_reason(self) -> str:
        """Return why the reasoner waits on purpose; empty while it does not."""
        return self.reasoner.pause_reason

    @property
    def pipeline(self) -> Pipeline:
        """Return the reasoning pipeline, which counts its `done` and `redone` interactions."""
        return self.reasoning.pipeline
