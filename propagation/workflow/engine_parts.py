"""Composition of an engine's parts from its ports and settings."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from propagation.ports import Embedder, GraphStore, Reasoner, VectorIndex
from propagation.workflow.bootstrap.stage0 import Stage0
from propagation.workflow.concurrency import Exclusion, Leases, yield_to_loop
from propagation.workflow.data_settings import OpenData
from propagation.workflow.evolve.evolution import Evolution
from propagation.workflow.evolve.planner import Planner
from propagation.workflow.evolve.publication import Publisher
from propagation.workflow.forget.erasure import Forgetting
from propagation.workflow.forget.retention import Retention
from propagation.workflow.forget.withdrawal import Withdrawer
from propagation.workflow.history.profile_reader import ProfileReader
from propagation.workflow.history.time_travel import TimeTravel
from propagation.workflow.history.trace import Tracer
from propagation.workflow.index.maintenance import IndexMaintenance
from propagation.workflow.index.vector_sync import VectorSync
from propagation.workflow.learn.item_embedding import RefusedTexts
from propagation.workflow.learn.learner import Learner
from propagation.workflow.read.reasoner_ranking import ReasonerRanking
from propagation.workflow.read.recommend import Recommender
from propagation.workflow.read.similar_clients import SimilarClients
from propagation.workflow.reason.cold_start import ColdStart
from propagation.workflow.reason.drafting import TextDrafter
from propagation.workflow.reason.interaction import InteractionReasoning
from propagation.workflow.reason.reasoning import Reasoning
from propagation.workflow.replica_sync import ReplicaSync
from propagation.workflow.rounds.perception import AttributePerception
from propagation.workflow.rounds.policies import (
    PolicyPorts,
    build_policy,
)
from propagation.workflow.rounds.round import PropagationRound
from propagation.workflow.settings import WorkflowSettings
from propagation.workflow.views import (
    Catalogue,
    ClientMemory,
    NumbersOwner,
    PendingEvents,
    ReasonedWatermark,
)


@dataclass(frozen=True)
class Ports:
    """The adapters of one deployment."""

    store: GraphStore
    embedder: Embedder
    index: VectorIndex
    reasoner: Reasoner


class EngineParts:
    """The parts of an engine, built from its ports and settings.

    Each part comes after those that it uses. Nothing is opened yet.

    Args:
        ports: The adapters of the deployment.
        settings: Sizes and limits of the loop.
        process: Its name stands for this process in leases.
        yield_to_calls: Reasoning awaits it after each interaction.
        drafting: Another process that drafts the texts of claims; None: this one does.

    Raises:
        IncompatibleSettings: The settings name a policy that ROUTING_POLICIES lacks.
    """

    def __init__(
        self,
        ports: Ports,
        settings: WorkflowSettings,
        process: str,
        yield_to_calls: Callable[[], Awaitable[None]] = yield_to_loop,
        drafting: TextDrafter[Any] | None = None,
    ) -> None:
        store, embedder, index, reasoner = ports.store, ports.embedder, ports.index, ports.reasoner
        self.store, self.embedder, self.index, self.reasoner = store, embedder, index, reasoner
        self.settings = settings
        self.leases = leases = Leases(store, process, settings.lease_seconds)

        # What this process holds in memory, fed by the log.
        self.data = OpenData(store, embedder, reasoner.name, settings)
        self.numbers = numbers = NumbersOwner(self.data.first_view())
        self.catalogue, self.pending_events = Catalogue(), PendingEvents()
        self.reasoned_watermark = ReasonedWatermark(store)
        self.vectors = VectorSync(store, embedder, index, numbers, yield_to_calls)
        self.index_maintenance = IndexMaintenance(
            store, embedder, index, self.vectors, numbers, leases
        )

        # Stage 1 of Algorithm 1, and what keeps activities apart.
        interactions = InteractionReasoning(store, reasoner, settings, yield_to_calls)
        self.reasoning = Reasoning(
            store,
            interactions,
            self.vectors,
            settings,
            leases,
            reasoner.concurrency,
            drafting,
        )
        self.exclusion = Exclusion(self.reasoning)
        policy = build_policy(PolicyPorts(settings, store, index, embedder, numbers, leases))
        self.cold_start = ColdStart(
            store, reasoner, policy, self.vectors, self.reasoning.drafting, settings, leases
        )

        # Reads.
        self.time_travel = TimeTravel(store)
        self.tracer = Tracer(store)
        self.recommender = Recommender(
            store, numbers, embedder, self.catalogue, self.pending_events, self.vectors
        )
        self.reasoner_ranking = ReasonerRanking(store, reasoner, settings.seed)
        self.similar_clients = SimilarClients(store, numbers)
        self.profile_reader = ProfileReader(
            store, reasoner, settings, self.vectors, self.time_travel, self.exclusion.merging
        )
        memory = ClientMemory(
            self.catalogue,
            self.pending_events,
            (
                interactions.cache,
                self.reasoning.drafting,
                self.vectors.texts,
                self.recommender.texts,
            ),
        )

        # Learning, stage 2, evolution, stage 0, withdrawal.
        self.learner = Learner(
            store, numbers, embedder, leases, self.data, self.catalogue, (self.cold_start, memory)
        )
        self.replica_sync = ReplicaSync(store, embedder, self.vectors, memory)
        self.rounds = PropagationRound(
            store,
            reasoner,
            policy,
            AttributePerception(store, self.vectors.texts, index, embedder, numbers, settings),
            self.vectors,
            settings,
            leases,
            self.cold_start.through,
            yield_to_calls,
        )
        self.evolution = Evolution(
            store,
            numbers,
            self.learner,
            settings,
            self.exclusion,
            Planner(store, reasoner, settings),
            Publisher(
                store,
                numbers,
                self.vectors,
                self.index_maintenance,
                self.learner,
                leases,
                self.exclusion,
            ),
        )
        self.stage0 = Stage0(
            store,
            embedder,
            self.data,
            numbers,
            self.learner,
            self.index_maintenance,
            self.cold_start,
            self.rounds,
            self.replica_sync,
            settings,
            leases,
            self.exclusion,
        )
        withdrawer = Withdrawer(
            store,
            embedder,
            numbers,
            self.learner,
            self.vectors,
            self.index_maintenance,
            settings.min_support,
            leases,
        )
        self.forgetting = Forgetting(store, withdrawer, memory, self.exclusion)
        self.retention = Retention(store)
        self.refused_texts = RefusedTexts(store, embedder, numbers)
