"""Composition of an engine from its ports and settings."""

from collections.abc import Awaitable, Callable
from typing import Any

from propagation.ports import Embedder, GraphStore, Reasoner, VectorIndex
from propagation.workflow.bootstrap.stage0 import Stage0
from propagation.workflow.concurrency import Exclusion, Leases, yield_to_loop
from propagation.workflow.data_settings import OpenData
from propagation.workflow.engine import Engine
from propagation.workflow.evolve.evolution import Evolution
from propagation.workflow.evolve.planner import Planner
from propagation.workflow.evolve.publication import Publisher
from propagation.workflow.forget.erasure import Forgetting
from propagation.workflow.forget.factor_relearning import FactorRelearning
from propagation.workflow.forget.retention import Retention
from propagation.workflow.forget.withdrawal import Withdrawer
from propagation.workflow.history.measuring import MeasurementHistory
from propagation.workflow.history.published_runs import PublishedRuns
from propagation.workflow.history.time_travel import TimeTravel
from propagation.workflow.history.trace import Tracer
from propagation.workflow.index.maintenance import IndexMaintenance
from propagation.workflow.index.vector_sync import VectorSync
from propagation.workflow.learn import Learner, RefusedTexts
from propagation.workflow.read.profile_reader import ProfileReader
from propagation.workflow.read.recommend import Recommender
from propagation.workflow.reason.cold_start import ColdStart
from propagation.workflow.reason.drafting import TextDrafter
from propagation.workflow.reason.interaction import InteractionReasoning
from propagation.workflow.reason.prediction_log import PredictionLog
from propagation.workflow.reason.reasoning import Reasoning
from propagation.workflow.replica_sync import ReplicaSync
from propagation.workflow.rounds.attribute_perception import AttributePerception
from propagation.workflow.rounds.policies import PolicyPorts, build_policy
from propagation.workflow.rounds.round import PropagationRound
from propagation.workflow.settings import WorkflowSettings
from propagation.workflow.views import (
    Catalogue,
    ClientMemory,
    NumbersOwner,
    PendingEvents,
    ReasonedWatermark,
)


def compose(
    store: GraphStore,
    embedder: Embedder,
    index: VectorIndex,
    reasoner: Reasoner,
    settings: WorkflowSettings,
    process: str,
    yield_to_calls: Callable[[], Awaitable[None]] = yield_to_loop,
    drafting: TextDrafter[Any] | None = None,
) -> Engine:
    """Build an engine from its ports and settings.

    Each part is built after the parts that it uses. Nothing is opened yet.

    Args:
        store, embedder, index, reasoner: The adapters of the deployment.
        settings: Sizes and limits of the loop.
        process: The name of this process, under which it holds leases.
        yield_to_calls: Awaited between pieces of background work, so that calls go first.
        drafting: Drafts the texts of claims in another process; None: this process does.

    Raises:
        IncompatibleSettings: The settings name a policy that ROUTING_POLICIES lacks.
    """
    leases = Leases(store, process, settings.lease_seconds)

    # What this process holds in memory, fed by the log.
    data = OpenData(store, embedder, reasoner.name, settings)
    numbers = NumbersOwner(data.create_first_view())
    catalogue, pending_events = Catalogue(), PendingEvents()
    vectors = VectorSync(store, embedder, index, numbers, yield_to_calls)
    index_maintenance = IndexMaintenance(store, embedder, index, vectors, numbers, leases)

    # Stage 1 of Algorithm 1, and the locks of all activities.
    interactions = InteractionReasoning(store, reasoner, settings, yield_to_calls)
    reasoning = Reasoning(
        store,
        interactions,
        vectors,
        settings,
        leases,
        reasoner.concurrency,
        PredictionLog(store, reasoner, leases, settings.seed) if reasoner.asks_model else None,
        drafting,
    )
    policy = build_policy(PolicyPorts(settings, store, index, embedder, numbers, leases))
    cold_start = ColdStart(store, reasoner, policy, vectors, reasoning.drafting, settings, leases)

    async def settle() -> None:
        await cold_start.sweep.settle()  # first, because interactions may wait for descriptions
        await reasoning.settle()

    exclusion = Exclusion(settle)

    # Reads.
    time_travel = TimeTravel(store)
    recommender = Recommender(
        store, numbers, embedder, catalogue, pending_events, vectors, settings.min_support
    )
    memory = ClientMemory(
        catalogue,
        pending_events,
        (interactions.cache, reasoning.drafting, vectors.texts, recommender.texts),
    )

    # Learning and stage 2.
    learner = Learner(
        store, numbers, embedder, leases, data, catalogue, (cold_start.queue.take, memory.take)
    )
    withdrawer = Withdrawer(
        store,
        embedder,
        numbers,
        learner,
        vectors,
        index_maintenance,
        settings.min_support,
        leases,
    )
    replica_sync = ReplicaSync(store, embedder, vectors, memory)
    rounds = PropagationRound(
        store,
        reasoner,
        policy,
        AttributePerception(store, vectors.texts, index, embedder, numbers, settings),
        vectors,
        settings,
        leases,
        cold_start.find_round_end,
        yield_to_calls,
    )
    return Engine(
        settings=settings,
        store=store,
        embedder=embedder,
        index=index,
        reasoner=reasoner,
        leases=leases,
        exclusion=exclusion,
        data=data,
        numbers=numbers,
        memory=memory,
        vectors=vectors,
        index_maintenance=index_maintenance,
        learner=learner,
        replica_sync=replica_sync,
        reasoning=reasoning,
        cold_start=cold_start,
        rounds=rounds,
        evolution=Evolution(
            store,
            numbers,
            learner,
            settings,
            exclusion,
            Planner(store, reasoner, settings),
            Publisher(
                store, numbers, vectors, index_maintenance, learner, leases, exclusion, memory
            ),
        ),
        forgetting=Forgetting(
            store,
            withdrawer,
            FactorRelearning(numbers, withdrawer, exclusion),
            memory,
            exclusion,
        ),
        retention=Retention(store),
        refused_texts=RefusedTexts(store, embedder, numbers),
        stage0=Stage0(
            store,
            embedder,
            data,
            numbers,
            learner,
            index_maintenance,
            cold_start,
            rounds,
            replica_sync,
            settings,
            exclusion,
        ),
        recommender=recommender,
        profile_reader=ProfileReader(store, reasoner, settings, vectors, exclusion),
        time_travel=time_travel,
        tracer=Tracer(store, numbers),
        measurements=MeasurementHistory(store, leases),
        published_runs=PublishedRuns(store),
        reasoned_watermark=ReasonedWatermark(store),
    )
