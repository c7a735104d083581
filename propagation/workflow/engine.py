"""The whole loop on given ports: what a service, a replay and a test run."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any

from propagation.model.clients.client import ClientChange, ClientKind, ClientOutcome, index_of
from propagation.model.errors import IncompatibleSettings, LeaseHeld
from propagation.model.gauge import Gauge
from propagation.model.interactions.interaction import NewInteraction
from propagation.model.interactions.log import LogEntry
from propagation.model.routers.epoch import Epoch
from propagation.model.routers.evolution import EvolutionRun
from propagation.model.routers.round import Round
from propagation.model.usage import NO_EXPENSES, Expenses
from propagation.ports.embedder import Embedder
from propagation.ports.graph.graph_store import GraphStore
from propagation.ports.graph.record import RecordResult
from propagation.ports.reasoner import Reasoner
from propagation.ports.vector_index import VectorIndex
from propagation.workflow.bootstrap.stage0 import OnStep, Stage0, first_view, ignore_step
from propagation.workflow.concurrency.leases import Leases
from propagation.workflow.concurrency.locks import ReadersWriterLock
from propagation.workflow.concurrency.tasks import yield_to_loop
from propagation.workflow.data_settings import DataSettings
from propagation.workflow.evolve.evolution import Evolution
from propagation.workflow.forget.coordinator import Forgetting, Memory
from propagation.workflow.forget.retention import Retention
from propagation.workflow.history.profile_reader import ProfileReader
from propagation.workflow.history.time_travel import TimeTravel
from propagation.workflow.history.trace import Tracer
from propagation.workflow.index.maintenance import IndexMaintenance, OnProgress, no_progress
from propagation.workflow.index.outbox_feed import OutboxFeed
from propagation.workflow.index.vector_sync import VectorSync
from propagation.workflow.learn.gauge import gauge_of
from propagation.workflow.learn.learner import Learner, erased_in
from propagation.workflow.learn.re_embedding import RefusedTexts
from propagation.workflow.learn.rebuild import rebuild
from propagation.workflow.read.reasoner_ranking import ReasonerRanking
from propagation.workflow.read.recommend import Recommender
from propagation.workflow.read.router_communities import RouterAttributes
from propagation.workflow.read.similar_clients import SimilarClients
from propagation.workflow.reason.cold_start import ColdStart
from propagation.workflow.reason.drafting import Drafting
from propagation.workflow.reason.interaction import InteractionReasoning
from propagation.workflow.reason.reason_step import CLAIM, Reasoning
from propagation.workflow.replica_sync import ReplicaSync
from propagation.workflow.rounds.perception import AttributePerception
from propagation.workflow.rounds.policies import (
    ROUTING_POLICIES,
    PolicyFactory,
    PolicyPorts,
    build_policy,
)
from propagation.workflow.rounds.round import PropagationRound
from propagation.workflow.settings import WorkflowSettings
from propagation.workflow.views.catalogue import Catalogue
from propagation.workflow.views.client_texts import client_text_cache
from propagation.workflow.views.numbers_owner import NumbersOwner
from propagation.workflow.views.numbers_view import NumbersView
from propagation.workflow.views.pending_events import PendingEvents
from propagation.workflow.views.reasoned_watermark import ReasonedWatermark
from propagation.workflow.warm_up import warm_up

Reach = Callable[[Callable[[], Awaitable[None]]], Awaitable[None]]


async def at_once(open_part: Callable[[], Awaitable[None]]) -> None:
    """Without waiting for a server that does not answer."""
    await open_part()


class Engine:
    """Record, learn, reason and rounds over one graph. `holder` names this process to others;
    reasoning awaits `yield_to_calls` after each interaction. `beside`: another process that drafts the
    texts of claims."""

    def __init__(
        self,
        store: GraphStore,
        embedder: Embedder,
        index: VectorIndex,
        reasoner: Reasoner,
        settings: WorkflowSettings,
        holder: str,
        yield_to_calls: Callable[[], Awaitable[None]] = yield_to_loop,
        beside: Drafting[Any] | None = None,
        policies: Mapping[str, PolicyFactory] = ROUTING_POLICIES,
    ) -> None:
        self.store = store
        self.embedder = embedder
        self.index = index
        self.reasoner = reasoner
        self.settings = settings
        self.leases = Leases(store, holder, settings.lease_seconds)
        self._reached = False
        wanted = DataSettings(
            session_k=settings.session.k,
            taste_k=settings.taste.k,
            embedder=embedder.name,
            dimension=embedder.dimension,
            reasoner=reasoner.name,
            seed=settings.seed,
            centres=settings.centres,
        )
        self.numbers = NumbersOwner(first_view(wanted, settings.limits))
        self._learning, self._reasoning, self._rounding = (
            asyncio.Lock(),
            asyncio.Lock(),
            asyncio.Lock(),
        )
        self._bootstrapping = asyncio.Lock()
        self._merging = ReadersWriterLock()
        self.catalogue, self.unlearned, self.progress = (
            Catalogue(),
            PendingEvents(),
            ReasonedWatermark(store),
        )
        self.retention = Retention(store)
        self.refused = RefusedTexts(store, embedder, self.numbers)
        self.similar = SimilarClients(store, self.numbers)
        feed = OutboxFeed(store, index)
        self.vectors = VectorSync(store, embedder, feed, self.numbers, yield_to_calls)
        self.recommender = Recommender(
            store,
            self.numbers,
            embedder,
            self.catalogue,
            self.unlearned,
            RouterAttributes(store, self.numbers, self.vectors),
        )
        self.upkeep = IndexMaintenance(
            store, embedder, index, feed, self.vectors, self.numbers, self.leases
        )
        policy = build_policy(
            policies,
            PolicyPorts(settings, store, index, embedder, self.numbers, self.leases),
        )
        self.cold_start = ColdStart(store, reasoner, policy, self.vectors, settings)
        self.learner = Learner(
            store,
            self.numbers,
            embedder,
            self.leases,
            self.first_view,
            self.catalogue,
            self._take_entries,
            self._take_epoch,
        )
        self._interactions = InteractionReasoning(
            store, reasoner, settings, client_text_cache(store), yield_to_calls
        )
        self.reasoning = Reasoning(
            store,
            self._interactions,
            self.vectors,
            settings,
            self.leases,
            reasoner.concurrency,
            beside,
        )
        self.past = TimeTravel(store)
        self.profiles = ProfileReader(
            store, reasoner, settings, self.vectors.publish, self.past, self._merging
        )
        self.following = ReplicaSync(
            store, embedder, self.vectors, self.unlearned, self._read_again
        )
        self.tracer = Tracer(store)
        self.ranking = ReasonerRanking(store, reasoner, settings.seed)
        self.rounds = PropagationRound(
            store,
            reasoner,
            policy,
            AttributePerception(store, self.vectors.said, index, embedder, self.numbers, settings),
            self.vectors,
            settings,
            self.leases,
            self.cold_start.through,
            yield_to_calls,
        )
        self.evolution = Evolution(
            store,
            reasoner,
            self.numbers,
            self.vectors,
            self.upkeep,
            self.learner,
            settings,
            self._learning,
            self._no_texts,
            self.leases,
        )
        self._evolving = asyncio.Lock()
        self.forgetting = Forgetting(
            store,
            embedder,
            self.numbers,
            self.learner,
            self.vectors,
            self.upkeep,
            Memory(self._forget_texts, self.catalogue, self.unlearned),
            settings,
            self.leases,
            self._still,
        )
        self.stage0 = Stage0(
            store,
            embedder,
            index,
            self.numbers,
            self.learner,
            self.vectors,
            self.upkeep,
            self.rounds,
            settings,
            wanted,
            self.leases,
        )

    @property
    def expenses(self) -> Expenses:
        """What models cost, and the budgets: the reasoner's, in which its embedder's are, or those
        of an embedder alone."""
        found = self.reasoner.expenses
        return self.embedder.expenses if found == NO_EXPENSES else found

    def first_view(self) -> NumbersView:
        """The numbers before anything was learned, as this data was begun."""
        return first_view(self.stage0.made_with, self.settings.limits)

    async def open(self, *, adopt: bool = False, reach: Reach = at_once) -> None:
        """Open the store and bring the numbers to where the log says they are. Raises
        IncompatibleSettings where the data was made with other ones; with `adopt` it opens all the
        same, and `init` has to be called before anything else. `reach` opens what a server may have
        to answer for (the store, the embedder): a service waits for it."""
        await asyncio.to_thread(warm_up)
        await reach(self.store.open)
        self._reached = True
        await self.stage0.restore(adopt=adopt)
        await self.cold_start.open(await self.store.learned_through())
        learned = await self.store.learned_through()
        await asyncio.gather(
            self.catalogue.load(self.store),
            *(() if self.stage0.anew else (reach(self.learner.open),)),
        )
        await self.following.open(max(learned, self.numbers.view.applied_through))
        await reach(self.stage0.open_index)
        await reach(self.forgetting.finish)

    async def follow(self) -> int:
        """Take in what other processes committed; how much that was. What this one records, learns
        and reasons it knows."""
        return await self.following.step()

    async def retain(self) -> bool:
        """One step of retention, or what was refused is embedded again; whether anything was due."""
        return await self.retention.step() is not None or await self.refused.step() > 0

    async def close(self) -> None:
        """Also after an `open` that failed."""
        if self._reached:  # what they leave is left in the store
            await self.reasoning.close()
            await self.reasoner.close()
            await self.embedder.close()
            await self.learner.close()
            await self.upkeep.close()
        self.numbers.close()
        await self.store.close()

    async def upsert_clients(self, changes: Sequence[ClientChange]) -> Sequence[ClientOutcome]:
        outcomes = await self.store.upsert_clients(changes)
        for change, outcome in zip(changes, outcomes, strict=True):
            if outcome.changed and change.hidden is not None and change.key.kind == ClientKind.ITEM:
                self.catalogue.hide(
                    index_of(outcome.ref), outcome.sequence if change.hidden else None
                )
        for sequence in {
            outcome.sequence for outcome in outcomes if outcome.changed or outcome.created
        }:
            self.unlearned.passed(sequence)
        return outcomes

    async def record(self, events: Sequence[NewInteraction]) -> RecordResult:
        recorded = await self.store.record(events, auto_create=self.settings.auto_create)
        self.unlearned.recorded(events, recorded.outcomes, entries=bool(recorded.created))
        return recorded

    @contextlib.asynccontextmanager
    async def _still(self) -> AsyncIterator[None]:
        """Nothing in this process learns, reasons, merges, evolves or runs a round; reads and
        record go on."""
        async with self._evolving, self._stillness(), self._merging.write():
            yield

    def _forget_texts(self, refs: Iterable[int]) -> None:
        refs = list(refs)
        self._read_again(refs)
        self.recommender.texts.forget(refs)

    def _read_again(self, refs: Iterable[int]) -> None:
        refs = list(refs)
        self._interactions.forget(refs)
        self.reasoning.drafting.forget(refs)
        self.vectors.said.forget(refs)

    async def learn(self) -> int:
        """One step of the learner, one at a time in this process; how many log entries it covered.
        Bootstraps when the catalogue has become large enough."""
        async with self._learning:
            covered = await self.learner.step()
            await self.following.embedder()
        self.unlearned.learned(self.numbers.view.applied_through)
        if covered:
            async with self._bootstrapping:  # a second caller looks again once the first is done
                if await self.stage0.due(self.cold_start.changes):
                    await self._open_epoch(ignore_step, first=True)
        return covered

    def _take_entries(self, entries: Sequence[LogEntry]) -> None:
        self.cold_start.take(entries)
        for ref in erased_in(entries):
            self.forgetting.left(ref)

    async def _take_epoch(self, number: int) -> None:
        await self.stage0.take_epoch(number)

    async def init(self, on_step: OnStep = ignore_step) -> Epoch:
        """Stage 0, now: fit the embedder, find the routers' centres, learn everything again, and
        open an epoch; reads and record go on meanwhile. `say` is told each step in a few words.
        Raises LeaseLost when another process learns."""
        epoch = await self._open_epoch(on_step, first=False)
        assert epoch is not None, "the next one"
        return epoch

    async def _open_epoch(self, on_step: OnStep, *, first: bool) -> Epoch | None:
        async with self._reasoning:
            while await self._describe(welcome=False):  # by routers that are to say other things
                pass
        async with self._evolving, self._learning, self._no_reasoning(), self._rounding:
            epoch = await self.stage0.run(on_step, first=first)
            if epoch is None:
                return None
            self.following.embedded()
            if self.settings.propagate and self.rounds.policy.integrator is None:
                on_step("writing the routers' first profiles")
                with contextlib.suppress(LeaseHeld):  # it stays due
                    await self.rounds.run()
            return epoch

    async def evolve(self, *, dry_run: bool = False, undo: int | None = None) -> EvolutionRun:
        """Evolve the routers now (RecNet 2.4), or with `undo` lead a run back; reads and record go
        on meanwhile, and learn but for the end of the publication. A dry run says what would be
        done, and changes nothing. Raises InvalidInput where the run cannot be undone, LeaseLost
        where another process learns or runs a round, IncompatibleSettings where propagation is off
        (it can still be planned, and led back)."""
        if not (self.settings.propagate or dry_run or undo):
            raise IncompatibleSettings(
                "propagation is switched off (the setting propagate): nothing is evolved; a dry run says"
                " what would be"
            )
        async with self._evolving:
            if undo is not None:
                return await self.evolution.undo(undo, dry_run=dry_run)
            return await self.evolution.run(dry_run=dry_run)

    async def rebuild(self) -> int:
        """The numbers once more from the log, as the newest checkpoint; the sequence they stand at.
        Raises StoreBusy."""
        return await rebuild(self.store, self.embedder, self.first_view, self.leases)

    async def reindex(self, progress: OnProgress = no_progress) -> int:
        """Make the vector index again from the graph; how many points it has."""
        async with self._no_reasoning(), self._rounding:
            count = await self.stage0.reindex(progress)
            self.following.embedded()
            return count

    async def carry(self) -> int:
        """One step of the outbox: what the vector index missed; how many changes that were."""
        if not await self.upkeep.due():
            return 0
        async with self._reasoning, self._rounding:
            await self.reasoning.shown()
            return await self.upkeep.step()

    async def reason(self, limit: int = CLAIM, *, shown: bool = True) -> int:
        """Describe clients that are new or changed, then reason a claim of at most `limit`; how
        many texts and interactions that were. Without `shown`, the view and the index follow while
        the next claim is reasoned."""
        async with self._reasoning:
            done = await self._describe() + await self.reasoning.step(limit)
            if shown:
                await self.reasoning.shown()
            return done

    @contextlib.asynccontextmanager
    async def _no_reasoning(self) -> AsyncIterator[None]:
        """What is under way ends first, and nothing new is begun."""
        async with self._reasoning:
            await self.reasoning.settle()
            yield

    @contextlib.asynccontextmanager
    async def _no_texts(self) -> AsyncIterator[None]:
        """Nothing reasons or runs a round."""
        async with self._no_reasoning(), self._rounding:
            yield

    @contextlib.asynccontextmanager
    async def _stillness(self) -> AsyncIterator[None]:
        async with self._no_texts(), self._learning:
            yield

    def stop_within(self, seconds: float) -> None:
        """This process is to stop: models have so many seconds for what they are asked, and are
        asked no more. What waits for them goes on after the next start."""
        self.reasoner.stop_within(seconds)
        self.embedder.stop_within(seconds)

    async def _describe(self, *, welcome: bool = True) -> int:
        texts = await self.cold_start.step(welcome=welcome)
        while (
            not texts and self.cold_start.waiting
        ):  # thousands of clients without text may come before those with one
            texts = await self.cold_start.step(welcome=welcome)
        self.reasoning.drafting.committed(texts)
        return len(texts)

    async def replay_dead_letters(self) -> tuple[int, int]:
        """Try dead letters again, marked late; (mended, failed again) of at most one claim."""
        async with self._no_reasoning():
            return await self.reasoning.replay_dead_letters()

    async def round_is_due(self) -> bool:
        clients = self.numbers.view.users + self.numbers.view.items
        return await self.rounds.trigger.is_due(clients)

    async def gauge(self) -> Gauge | None:
        """What propagation is worth on the running stream; None before the first interaction with a
        negative."""
        return await self.numbers.run(gauge_of)

    async def run_round(self) -> Round | None:
        """A round now, whether due or not. None where nothing had changed, another process runs
        one, or propagation is off."""
        if not self.settings.propagate:
            return None
        if await self.evolution.due_before_round():
            await self.evolve()
        async with self._rounding:
            await self.reasoning.shown()
            return await self.rounds.run()

    async def drain(self) -> None:
        """Learn, reason and run due rounds until nothing waits."""
        while await self.learn():
            pass
        while await self.reason():
            if self.settings.propagate and await self.round_is_due():
                await self.run_round()
