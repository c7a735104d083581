"""Settings to an engine: the one place that chooses adapters. A row of a table builds one; what an
adapter needs installed or running is imported and asked for only where it is chosen."""

import os
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, cast

from propagation.adapters.fallback.reasoner import FallbackReasoner
from propagation.adapters.numpy.index import NumpyIndex
from propagation.adapters.offline.embedder import HashedEmbedder
from propagation.adapters.offline.reasoner import OfflineReasoner
from propagation.adapters.sqlite.index.points import SqlitePoints
from propagation.adapters.sqlite.maintenance.commands import SqliteFiles
from propagation.adapters.sqlite.store import SqliteStore
from propagation.evaluation.control_policies import CONTROL_POLICIES
from propagation.ports.clock import Clock
from propagation.ports.embedder import Embedder
from propagation.ports.graph.graph_store import GraphStore
from propagation.ports.reasoner import Reasoner
from propagation.ports.vector_index import VectorIndex
from propagation.workflow.concurrency.tasks import yield_to_loop
from propagation.workflow.engine import Engine
from propagation.workflow.rounds.policies import ROUTING_POLICIES
from propagation.workflow.settings import WorkflowSettings
from services.config.settings import Settings
from services.reasoning.pipe_protocol import Begin
from services.reasoning.process_drafting import Beside
from services.runtime.process import SystemClock, process_name

if TYPE_CHECKING:
    from propagation.adapters.openai.endpoint.endpoint import Endpoint


def sqlite_store(settings: Settings, clock: Clock | None = None) -> SqliteStore:
    """The graph alone. `clock`: the system's."""
    return SqliteStore(settings.database, clock or SystemClock())


def neo4j_store(settings: Settings, clock: Clock | None = None) -> GraphStore:
    """A server; nothing is connected yet. The system's clock is the server's there: machines share
    it."""
    from propagation.adapters.neo4j.store import Neo4jStore

    return Neo4jStore(settings.neo4j, None if isinstance(clock, SystemClock) else clock)


def sqlite_files(settings: Settings) -> SqliteFiles:
    """The database as a whole."""
    return SqliteFiles(settings.database)


def numpy_index(settings: Settings, store: GraphStore) -> VectorIndex:
    """Its points lie where the graph does."""
    if isinstance(store, SqliteStore):
        return NumpyIndex(SqlitePoints(store.database))
    from propagation.adapters.neo4j.index.points import Neo4jPoints
    from propagation.adapters.neo4j.store import Neo4jStore

    assert isinstance(store, Neo4jStore), "the settings know two stores"
    return NumpyIndex(Neo4jPoints(store.database))


def qdrant_index(settings: Settings, store: GraphStore) -> VectorIndex:
    """A server; nothing is connected yet."""
    from propagation.adapters.qdrant.connection import connect
    from propagation.adapters.qdrant.index import QdrantIndex

    qdrant = settings.qdrant
    key = qdrant.api_key.get_secret_value() if qdrant.api_key else None
    return QdrantIndex(
        connect(qdrant.url, qdrant.grpc_port, key, qdrant.timeout_seconds), qdrant.prefix
    )


STORES: Mapping[str, Callable[[Settings, Clock | None], GraphStore]] = {
    "sqlite": sqlite_store,
    "neo4j": neo4j_store,
}


@dataclass(frozen=True)
class ModelPorts:
    """What a reasoner or an embedder is built from."""

    settings: Settings
    store: GraphStore
    process: str

    @cached_property
    def endpoint(self) -> "Endpoint":
        """The OpenAI-compatible endpoint, which the reasoner and the embedder share.

        The key is read from the environment here and nowhere else.
        """
        from propagation.adapters.openai.build import openai_endpoint

        options = self.settings.openai
        key = os.environ.get(options.key_variable)
        return openai_endpoint(options, key, self.store, self.process)


def offline_reasoner(ports: ModelPorts) -> Reasoner:
    """Build the reasoner that needs no language model."""
    return OfflineReasoner(ports.settings.workflow.profile_lines)


def openai_reasoner(ports: ModelPorts) -> Reasoner:
    """Build the reasoner behind an endpoint, with the offline one as its fallback if so set."""
    from propagation.adapters.openai.build import openai_reasoner

    reasoner = openai_reasoner(ports.endpoint, ports.store)
    fallback = ports.settings.openai.stand_in
    if fallback == "never":
        return reasoner
    return FallbackReasoner(
        reasoner, offline_reasoner(ports), unavailable=fallback == "unavailable"
    )


def fitted_embedder(ports: ModelPorts) -> Embedder:
    """Build the embedder that is fitted on the catalogue."""
    return HashedEmbedder(ports.settings.workflow.seed)


def openai_embedder(ports: ModelPorts) -> Embedder:
    """Build the embedder behind an endpoint."""
    from propagation.adapters.openai.build import openai_embedder

    return openai_embedder(ports.endpoint, ports.store)


REASONERS: Mapping[str, Callable[[ModelPorts], Reasoner]] = {
    "offline": offline_reasoner,
    "openai": openai_reasoner,
}
EMBEDDERS: Mapping[str, Callable[[ModelPorts], Embedder]] = {
    "fitted": fitted_embedder,
    "openai": openai_embedder,
}
Around = Callable[[GraphStore, VectorIndex], tuple[GraphStore, VectorIndex]]
INDEXES: Mapping[str, Callable[[Settings, GraphStore], VectorIndex]] = {
    "numpy": numpy_index,
    "qdrant": qdrant_index,
}


def graph_store(settings: Settings, clock: Clock | None = None) -> GraphStore:
    """The graph alone, not opened. `clock`: the system's."""
    return STORES[settings.store](settings, clock)


def as_they_are(store: GraphStore, index: VectorIndex) -> tuple[GraphStore, VectorIndex]:
    """Unwatched."""
    return store, index


def build_engine(
    settings: Settings,
    yield_to_calls: Callable[[], Awaitable[None]] = yield_to_loop,
    clock: Clock | None = None,
    around: Around = as_they_are,
) -> Engine:
    """Not opened. As the settings say; by default SQLite, NumPy, offline reasoner and fitted
    embedder: no server, no network, no key. `clock`: the system's. `around` may put something in
    their place that watches them."""
    store = graph_store(settings, clock)
    holder, workflow = process_name(), settings.workflow
    models = ModelPorts(settings, store, holder)
    reasoner = REASONERS[settings.reasoner](models)
    embedder = EMBEDDERS[settings.embedder](models)
    store, index = around(store, INDEXES[settings.index](settings, store))
    return Engine(
        store,
        embedder,
        index,
        reasoner,
        workflow,
        holder=holder,
        yield_to_calls=yield_to_calls,
        beside=beside_of(settings, store, workflow),
        policies=ROUTING_POLICIES | CONTROL_POLICIES,
    )


def beside_of(settings: Settings, store: GraphStore, workflow: WorkflowSettings) -> Beside | None:
    """The process that drafts, where there is to be one; it starts with the first claim."""
    if (
        settings.store != "sqlite"
        or settings.reasoner != "offline"
        or settings.reasoning_in != "process"
    ):
        return None
    return Beside(cast(SqliteStore, store), Begin(settings.database.resolve(), workflow))
