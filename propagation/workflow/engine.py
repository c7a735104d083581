"""The engine of one process.

It offers everything that services, replays and tests ask of the library.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import Concatenate, ParamSpec, TypeVar

from propagation.model import (
    NO_EXPENSES,
    Client,
    ClientChange,
    ClientKey,
    ClientKind,
    ClientOutcome,
    DamagedNumbers,
    Epoch,
    EvolutionRun,
    Expenses,
    Gauge,
    IncompatibleSettings,
    NewInteraction,
    Round,
    index_of,
)
from propagation.ports import Embedder, GraphStore, Reasoner, RecordResult, VectorIndex
from propagation.reception.message_buffer import ProfileReading
from propagation.workflow.bootstrap.stage0 import OnStep, Stage0
from propagation.workflow.concurrency import Activity, Exclusion, Leases
from propagation.workflow.data_settings import OpenData
from propagation.workflow.evolve.evolution import Evolution
from propagation.workflow.forget.client_export import export_lines
from propagation.workflow.forget.erasure import (
    ErasurePreview,
    ErasureResult,
    Forgetting,
    RetractionResult,
)
from propagation.workflow.forget.retention import Retention
from propagation.workflow.history.measuring import MeasurementHistory
from propagation.workflow.history.published_runs import PublishedRuns
from propagation.workflow.history.time_travel import TimeTravel
from propagation.workflow.history.trace import Tracer
from propagation.workflow.index.maintenance import IndexMaintenance
from propagation.workflow.index.repair import OnProgress, ignore_progress
from propagation.workflow.index.vector_sync import VectorSync
from propagation.workflow.learn import Learner, RefusedTexts, rebuild
from propagation.workflow.read.profile_reader import ProfileReader
from propagation.workflow.read.reasoner_ranking import rerank
from propagation.workflow.read.recommend import Recommendations, Recommender, RecommendRequest
from propagation.workflow.read.similar_clients import By, Neighbours, find_similar
from propagation.workflow.reason.cold_start import ColdStart
from propagation.workflow.reason.pace import PaceReading
from propagation.workflow.reason.pipeline import POLL_SECONDS
from propagation.workflow.reason.prediction_log import PredictorRecord
from propagation.workflow.reason.reasoning import CLAIM, Reasoning
from propagation.workflow.replica_sync import ReplicaSync
from propagation.workflow.rounds.round import PropagationRound
from propagation.workflow.settings import WorkflowSettings
from propagation.workflow.views import (
    ClientMemory,
    NumbersOwner,
    NumbersView,
    ReasonedWatermark,
    find_ref,
)
from propagation.workflow.warm_up import warm_up

P = ParamSpec("P")
T = TypeVar("T")
Reach = Callable[[Callable[[], Awaitable[None]]], Awaitable[None]]


@dataclass(kw_only=True, eq=False)
class Engine:
    """Algorithm 1 over one graph: record, learn, reason, rounds, evolution and upkeep.

    `compose` builds it from its parts. Services call its methods, which take the locks of their
    activities. Services also use some parts directly: `settings`, the ports, `leases`,
    `reasoning`, `tracer`, `measurements`, `published_runs` and `time_travel`.
    """

    settings: WorkflowSettings
    store: GraphStore
    embedder: Embedder
    index: VectorIndex
    reasoner: Reasoner
    leases: Leases
    exclusion: Exclusion
    data: OpenData
    numbers: NumbersOwner
    memory: ClientMemory
    vectors: VectorSync
    index_maintenance: IndexMaintenance
    learner: Learner
    replica_sync: ReplicaSync
    reasoning: Reasoning
    cold_start: ColdStart
    rounds: PropagationRound
    evolution: Evolution
    forgetting: Forgetting
    retention: Retention
    refused_texts: RefusedTexts
    stage0: Stage0
    recommender: Recommender
    profile_reader: ProfileReader
    time_travel: TimeTravel
    tracer: Tracer
    measurements: MeasurementHistory
    published_runs: PublishedRuns
    reasoned_watermark: ReasonedWatermark
    _store_opened: bool = field(default=False, init=False)

    # Start and stop

    async def open(self, *, adopt: bool = False, reach: Reach = lambda step: step()) -> None:
        """Open the store, the learned numbers and the vector index.

        Args:
            adopt: Whether to open data that was made with other settings or has damaged numbers.
                The numbers are then not read; call `init` or `rebuild` before anything else.
            reach: Runs each step that may need a server (the store's, the embedder's or the
                index's). A service repeats the step until the server answers; by default it runs
                once.

        Raises:
            IncompatibleSettings: The data was made with other settings, and `adopt` is not set.
        """
        await asyncio.to_thread(warm_up)
        await reach(self.store.open)
        self._store_opened = True
        await self.data.restore(adopt=adopt)
        learned = await self.store.get_learned_through()
        await self.cold_start.queue.open(learned)
        await asyncio.gather(
            self.memory.catalogue.load(self.store),
            *(() if self.data.outdated else (reach(self.learner.open),)),
        )
        await self.replica_sync.open(max(learned, self.applied_through))
        await self.vectors.canonical.load()
        await reach(self.stage0.open_index)
        await reach(self.wipe_if_due)

    def stop_within(self, seconds: float) -> None:
        """Stop asking models, and limit the wait for open answers.

        A question without an answer by then is asked again after the next start.

        Args:
            seconds: How long the open answers may take.
        """
        self.reasoning.drafting.shorten_wait()
        self.reasoner.stop_within(seconds)
        self.embedder.stop_within(seconds)
        self.forgetting.relearning.stop()

    async def close(self) -> None:
        """Close every part, also if one of them cannot be closed.

        If `open` failed before the store was open, only the store and the numbers are closed: the
        other parts would write to the store.
        """
        async with AsyncExitStack() as parts:  # the last one is closed first
            parts.push_async_callback(self.store.close)
            parts.callback(self.numbers.close)
            if self._store_opened:
                parts.push_async_callback(self.index_maintenance.close)
                parts.push_async_callback(self.learner.close)
                parts.push_async_callback(self.embedder.close)
                parts.push_async_callback(self.reasoner.close)
                parts.push_async_callback(self.reasoning.close)
                parts.push_async_callback(self.cold_start.sweep.close)

    # Record

    async def upsert_clients(self, changes: Sequence[ClientChange]) -> Sequence[ClientOutcome]:
        """Create or change clients."""
        outcomes = await self.store.upsert_clients(changes)
        for change, outcome in zip(changes, outcomes, strict=True):
            if outcome.changed and change.hidden is not None and change.key.kind == ClientKind.ITEM:
                self.memory.catalogue.hide(
                    index_of(outcome.ref), outcome.sequence if change.hidden else None
                )
        for sequence in {outcome.sequence for outcome in outcomes if outcome.changed}:
            self.memory.pending_events.note_entry(sequence)
        return outcomes

    async def record(self, events: Sequence[NewInteraction]) -> RecordResult:
        """Record interactions; they are durable when this returns."""
        recorded = await self.store.record(events, auto_create=self.settings.auto_create)
        self.memory.pending_events.add_recorded(
            events, recorded.outcomes, has_clients_entry=bool(recorded.created)
        )
        return recorded

    # Learn, reason, rounds

    async def learn(self, *, wait_for_model: bool = True) -> int:
        """Learn the next entries of the log.

        The first bootstrap follows as soon as the catalogue is large enough.

        Args:
            wait_for_model: Whether that bootstrap waits until a model has described all clients. If
                not, `update_index` must be called from time to time: it makes the index anew.

        Returns:
            How many log entries were covered.
        """
        async with self.exclusion.run(Activity.LEARN):
            covered = await self.learner.step()
            await self.replica_sync.follow_embedder()
        self.memory.pending_events.drop_learned(self.applied_through)
        if covered:
            await self.stage0.run_first_if_due(wait_for_model=wait_for_model)
        return covered

    async def reason(self, limit: int = CLAIM, *, shown: bool = True) -> int:
        """Describe new or changed clients, and reason a claim of interactions.

        An interaction is reasoned after its clients are described, or after all clients if the
        reasoner computes here.

        Args:
            limit: The most interactions of the claim.
            shown: Whether to wait until the numbers view and the index have the texts. Otherwise
                both get the texts while the next claim is reasoned.

        Returns:
            How many clients were described and interactions reasoned or begun, added up. It is 0
            while another process describes clients, if this one waits for that.
        """
        async with self.exclusion.run(Activity.REASON):
            if not self._describes_beside:
                described = await self.cold_start.describe()
                if described is None:  # interactions wait while another process describes
                    return 0
                done = described + await self.reasoning.step(limit)
            else:
                self.cold_start.sweep.begin(self.reasoning.pipeline.under_way)
                done = await self.reasoning.step(limit, self.cold_start.sweep.describe_first)
                done += await self.cold_start.sweep.count_progress(0.0 if done else POLL_SECONDS)
            if shown:
                await self.reasoning.wait_for_views()
            return done

    @property
    def _describes_beside(self) -> bool:
        """Whether interactions are reasoned while clients are described.

        With one call in flight, interactions are cheaper one claim after another. So they go on
        beside descriptions only while some are outstanding.
        """
        if self.reasoning.lockstep:
            return False
        waits = self.reasoner.asks_model and self.cold_start.outstanding > 0
        return waits or not self.reasoning.by_claims

    def stop_claim_early(self) -> None:
        """End the running claim after the part that is being drafted."""
        self.reasoning.drafting.stop_early()

    async def replay_dead_letters(self) -> tuple[int, int]:
        """Try one claim of queued dead letters again, marked late.

        Returns:
            How many succeeded, and how many failed again.
        """
        async with self.exclusion.run(Activity.REPLAY_DEAD_LETTERS):
            return await self.reasoning.replay_dead_letters()

    async def retry_dead_letters(self, sequences: Sequence[int] | None) -> tuple[int, int]:
        """Queue dead letters, and try all that are queued once.

        Args:
            sequences: Dead letters; None: all.

        Returns:
            How many succeeded, and how many failed again.
        """
        await self.store.queue_dead_letters(sequences)
        succeeded = failed = 0
        while any(tried := await self.replay_dead_letters()):
            succeeded += tried[0]
            failed += tried[1]
        return succeeded, failed

    async def is_round_due(self) -> bool:
        """Return whether enough clients have changed since the last round."""
        return await self.rounds.is_due(self.numbers.view.users + self.numbers.view.items)

    async def has_changes_for_round(self) -> bool:
        """Return whether any client has changed since the last round."""
        return bool((await self.rounds.find_pending()).clients)

    async def run_round(self) -> Round | None:
        """Run a round now, whether due or not.

        If an evolution is due, it runs first.

        Returns:
            The round, or None if nothing had changed or propagation is off.

        Raises:
            LeaseHeld: Another process runs a round.
            RoundAbandoned: The round gave way to the first epoch.
        """
        if not self.propagates:
            return None
        if await self.evolution.is_due_before_round():
            await self.evolve()
        async with self.exclusion.run(Activity.ROUND):
            await self.reasoning.wait_for_views()
            return await self.rounds.run()

    async def drain(self) -> int:
        """Learn, reason and run due rounds until nothing is pending.

        Returns:
            How many rounds ran.
        """
        rounds = 0
        while await self.learn():
            pass
        while await self.reason():
            if self.propagates and await self.is_round_due():
                rounds += await self.run_round() is not None
        return rounds

    # Routers

    @property
    def propagates(self) -> bool:
        """Whether preferences are propagated (the setting `propagate`)."""
        return self.settings.propagate

    @property
    def routers_in_use(self) -> Collection[int]:
        """The numbers of taste routers that are not retired."""
        return self.numbers.view.routers

    @property
    def is_round_under_way(self) -> bool:
        """Whether a round runs here, or an activity that changes the same."""
        return self.exclusion.is_under_way(Activity.ROUND)

    @property
    def postponed_routers(self) -> Mapping[int, str]:
        """The routers that the last round left out, and why."""
        return self.rounds.postponed

    async def init(self, on_step: OnStep = lambda step: None) -> Epoch:
        """Run stage 0 now and open an epoch.

        Reads and recording go on meanwhile.

        Args:
            on_step: Called with a few words before each step.

        Raises:
            LeaseLost: Another process keeps the learner's lease for too long.
        """
        epoch = await self.stage0.run(on_step, first=False)
        assert epoch is not None, "without `first`, an epoch is always opened"
        return epoch

    async def evolve(self, *, dry_run: bool = False, undo: int | None = None) -> EvolutionRun:
        """Evolve the routers now (RecNet 2.4).

        Learning goes on meanwhile, except while the numbers are copied and at the end of the
        publication.

        Args:
            dry_run: Say what would be done, and change nothing.
            undo: The number of a run to undo instead; None: evolve.

        Raises:
            InvalidInput: The run cannot be undone.
            LeaseLost: Another process keeps the learner's or the round lease for too long, or has
                changed the routers meanwhile.
            IncompatibleSettings: Propagation is off; a dry run and an undo are still possible.
        """
        if not (self.propagates or dry_run or undo):
            raise IncompatibleSettings(
                "propagation is switched off (the setting propagate), so nothing is evolved; a dry"
                " run says what would change"
            )
        async with self.exclusion.run(Activity.EVOLVE):
            if undo is not None:
                return await self.evolution.undo(undo, dry_run=dry_run)
            return await self.evolution.run(dry_run=dry_run)

    # Answers

    async def recommend(self, request: RecommendRequest) -> Recommendations:
        """Rank items for a user by the numbers."""
        return await self.recommender.recommend(request)

    async def rerank(
        self,
        user_id: str,
        recommendations: Recommendations,
        seconds: float | None,
        *,
        raise_unavailable: bool = False,
    ) -> Recommendations:
        """Put a list's first items into the reasoner's order.

        Args:
            user_id: Whose list it is.
            recommendations: The list.
            seconds: Time limit; None for no limit.
            raise_unavailable: Whether to raise the error below, for callers that ask again later.

        Raises:
            ReasonerUnavailable: No reasoner answers now, and `raise_unavailable` is set.
        """
        return await rerank(
            self.store,
            self.reasoner,
            self.settings.seed,
            user_id,
            recommendations,
            seconds,
            raise_unavailable=raise_unavailable,
        )

    async def read_profile(
        self, ref: int, as_of: int | None = None, *, merge: bool = False
    ) -> ProfileReading:
        """Read a client's profile.

        Args:
            ref: The client's number.
            as_of: Read it as it was at this sequence; None means now.
            merge: Merge the messages that wait for the client first.

        Raises:
            NotFound: The client was erased since its ref was found.
            ReasonerFailed: The reasoner could not merge.
            VersionClash: Other writers of this profile were faster, several times.
            TooOld: Retention dropped something meanwhile.
        """
        if as_of is not None:
            return await self.time_travel.get_profile(ref, as_of)
        if merge:
            return await self.profile_reader.read_merged(ref)
        return await self.profile_reader.read_current(ref)

    async def find_similar(
        self, ref: int, kind: ClientKind, by: By, limit: int, least_users: int
    ) -> Neighbours:
        """Find the most similar clients of a kind; see `find_similar` in similar_clients.py."""
        return await find_similar(self.store, self.numbers, ref, kind, by, limit, least_users)

    async def find_rarely_chosen(self, refs: Collection[int], least_users: int) -> frozenset[int]:
        """Find the items among some clients that fewer than `least_users` chose."""
        return await self.numbers.find_rarely_chosen(refs, least_users)

    async def find_unlisted(self, clients: Sequence[Client], least_users: int) -> frozenset[int]:
        """Find the items that are not to be found yet.

        Only events named them, and fewer than `least_users` users chose them: to find one would
        tell that somebody did.
        """
        refs = [client.ref for client in clients if client.only_in_events]
        return await self.find_rarely_chosen(refs, least_users)

    async def compute(
        self, work: Callable[Concatenate[NumbersView, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Run a function on the numbers, while nothing else changes them."""
        return await self.numbers.run(work, *args, **kwargs)

    # Withdrawal

    async def retract(self, event_ids: Sequence[str], *, wipe: bool = False) -> RetractionResult:
        """Withdraw events with everything they wrote, in one commit (docs/erasure.md).

        Args:
            event_ids: As they were recorded.
            wipe: Whether to learn the factors again and to wipe the database's files now, not in
                the night.

        Raises:
            LeaseLost: Another process keeps the learner's or the round lease for too long.
            StoreBusy: The events are retracted, but their traces are not wiped; call it again.
        """
        return await self.forgetting.retract(event_ids, wipe=wipe)

    async def forget(self, key: ClientKey, *, wipe: bool = False) -> ErasureResult:
        """Erase everything of a client (docs/erasure.md).

        Args:
            key: The client; its id may be used again afterwards.
            wipe: Whether to wipe the client's traces from the database's files now, not in the
                night.

        Raises:
            NotFound: The client is unknown.
            LeaseLost: Another process keeps the learner's or the round lease for too long.
            StoreBusy: The client is erased; its traces are wiped later.
        """
        return await self.forgetting.forget(key, wipe=wipe)

    async def preview_erasure(self, key: ClientKey) -> ErasurePreview:
        """Say what `forget` would erase now, and change nothing. Raises NotFound."""
        return await self.forgetting.preview(key)

    def prepare_withdrawal(self) -> AsyncIterator[None]:
        """Make the next retraction or erasure faster, in pieces.

        Nothing depends on it. It yields after each piece, so that the caller may rest.
        """
        return self.store.prepare_withdrawal(search=True)

    async def wipe_if_due(self) -> None:
        """Wipe any traces of erased clients from the database's files."""
        await self.forgetting.wipe_if_due()

    async def relearn_factors_if_due(self) -> int:
        """Learn the factors without withdrawn events, if they learned from any.

        Returns:
            How many adoptions were learned; 0 if it was not due.

        Raises:
            LeaseLost: Another process learns, evolves or runs a round for too long.
        """
        return await self.forgetting.relearning.run_if_due()

    def export_client(self, key: ClientKey) -> AsyncIterator[str]:
        """Yield everything that is stored of a client, as lines of JSON."""
        return export_lines(self.store, self.numbers, key)

    # Maintenance

    async def synchronize(self) -> None:
        """Bring the numbers to the newest learned block."""
        async with self.exclusion.run(Activity.LEARN):
            await self.learner.synchronize()

    async def follow(self) -> int:
        """Apply other processes' commits; return how many changes there were."""
        return await self.replica_sync.step()

    async def retain(self) -> bool:
        """Run one step of retention, or embed refused texts again.

        Returns:
            Whether either had something to do.
        """
        return await self.retention.step() is not None or await self.refused_texts.step() > 0

    @property
    def reasoner_problem(self) -> str:
        """Why the reasoner is paused; empty if it is not."""
        return self.reasoner.pause_reason

    @property
    def pipeline_counts(self) -> tuple[int, int]:
        """How many interactions the pipeline committed, and how many it reasoned again."""
        return self.reasoning.pipeline.done, self.reasoning.pipeline.redone

    async def get_predictor_records(self) -> Sequence[PredictorRecord]:
        """Return the recent predictions, by predictor.

        The present predictor comes first. There are none if no language model reasons.
        """
        predictions = self.reasoning.predictions
        return [] if predictions is None else await predictions.read()

    @property
    def pace(self) -> PaceReading:
        """Return the pace at which this process reasons with a language model."""
        return self.reasoning.pace.read()

    @property
    def index_problem(self) -> str:
        """Why the vector index is not written to; empty while it is."""
        return self.index_maintenance.problem

    @property
    def repaired_points(self) -> int:
        """How many points of the index the last comparison repaired."""
        return self.index_maintenance.repaired

    async def update_index(self) -> int:
        """Write changes that the vector index missed, from the outbox.

        While a round runs, nothing is written: a slow model may take minutes for it, and
        interactions would wait, too.

        Returns:
            How many changes were written.
        """
        if not await self.index_maintenance.is_due():
            return 0
        if self.is_round_under_way:
            return 0
        async with self.exclusion.run(Activity.UPDATE_INDEX):
            await self.reasoning.wait_for_views()
            return await self.index_maintenance.step()

    async def reindex(self, progress: OnProgress = ignore_progress) -> int:
        """Make the vector index anew, and return how many points it has."""
        return await self.stage0.reindex(progress)

    async def rebuild(self) -> int:
        """Compute the numbers again from the log, as the newest checkpoint.

        If the newest barrier or a learned block before it is damaged, everything is learned again
        in a new epoch, as by `init`.

        Returns:
            The sequence that the numbers reflect then.

        Raises:
            IncompatibleSettings: The data was made with other settings.
            StoreBusy: Another process learns.
        """
        self.data.settings.check(self.data.configured)
        try:
            await rebuild(self.store, self.embedder, self.data.create_first_view(), self.leases)
            async with self.exclusion.run(Activity.LEARN):
                await self.learner.reload()
        except DamagedNumbers:
            self.data.outdated = True
            await self.init()
        async with self.exclusion.run(Activity.LEARN):
            while await self.learner.step():
                pass
        return self.applied_through

    # Status

    @property
    def applied_through(self) -> int:
        """Return the sequence up to which the numbers reflect the log."""
        return self.numbers.view.applied_through

    @property
    def skipped_factor_steps(self) -> int:
        """Return how many steps of the learned factors were left out.

        A step is left out if a value would not have been finite.
        """
        return int(self.numbers.view.state.factors.skipped[0])

    async def wait_until_applied(self, sequence: int, seconds: float) -> None:
        """Wait until the numbers reflect a sequence.

        Raises:
            NotReached: The numbers did not reach it in time.
        """
        await self.numbers.wait_until_applied(sequence, seconds)

    async def get_reasoned_through(self, *, exact: bool = False) -> int:
        """Return the sequence up to which texts are reasoned.

        Args:
            exact: Whether to read it from the store. Otherwise it may be up to 0.05 s old.
        """
        return await self.reasoned_watermark.read(exact=exact)

    async def find_any_ref(self, key: ClientKey) -> int:
        """Return a client's number, also that of an unlisted item. Raises NotFound.

        A call asks Servicer._find_ref instead, which does not tell of unlisted items.
        """
        return await find_ref(self.store, key)

    async def gauge(self) -> Gauge | None:
        """Compare the ranking with propagation and without, on the live stream.

        Returns:
            The gauge; None before the first interaction with a negative.
        """
        return await self.compute(NumbersView.gauge)

    async def note_measurements(self, now_ms: int) -> bool:
        """Add the present gauge and costs to the history of measurements.

        Args:
            now_ms: Milliseconds since 1970.

        Returns:
            Whether there was anything new.
        """
        return await self.measurements.note(
            now_ms, await self.gauge(), self.expenses.this_run.total
        )

    @property
    def expenses(self) -> Expenses:
        """Return the models' cost and budgets.

        A reasoner's expenses include those of its embedder. If the reasoner has none, the
        embedder's own are returned.
        """
        found = self.reasoner.expenses
        return self.embedder.expenses if found == NO_EXPENSES else found
