"""The one place that chooses adapters, by tables.

There is one row for each store, index and model. A row's functions import what their adapter needs,
so that only a chosen adapter must be installed.
"""

import os
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

from propagation.adapters.fallback.prediction import DelegatedPrediction
from propagation.adapters.fallback.reasoner import FallbackReasoner
from propagation.adapters.fallback.router_texts import DelegatedRouterTexts
from propagation.adapters.numpy.index import NumpyIndex, PointStore
from propagation.adapters.offline.embedder import HashedEmbedder
from propagation.adapters.offline.extract import extract_lines
from propagation.adapters.offline.reasoner import OfflineReasoner
from propagation.adapters.sqlite.index.points import SqlitePoints
from propagation.adapters.sqlite.maintenance.commands import SqliteFiles
from propagation.adapters.sqlite.store import SqliteStore
from propagation.ports import Clock, Embedder, FittableEmbedder, GraphStore, Reasoner, VectorIndex
from propagation.workflow.compose import compose
from propagation.workflow.concurrency import yield_to_loop
from propagation.workflow.engine import Engine
from services.config.settings import Settings
from services.reasoning.process_drafter import Begin, PackedStore, ProcessDrafter
from services.runtime.errors import NotInstalled
from services.runtime.process import SystemClock, process_name

if TYPE_CHECKING:
    from propagation.adapters.neo4j.store import Neo4jStore
    from propagation.adapters.openai.answers.questions import QuestionAsker
    from propagation.adapters.openai.endpoint.endpoint import Endpoint


def build_sqlite_store(settings: Settings, clock: Clock | None = None) -> SqliteStore:
    """Build the store in one SQLite file."""
    return SqliteStore(settings.database, clock or SystemClock())


def build_sqlite_files(settings: Settings) -> SqliteFiles:
    """Build the commands on the SQLite file as a whole."""
    return SqliteFiles(settings.database)


def build_neo4j_store(settings: Settings, clock: Clock | None = None) -> "Neo4jStore":
    """Build the store on a Neo4j server, not connected yet.

    Instead of the system's clock the store uses the server's, which all machines share.
    """
    from propagation.adapters.neo4j.store import Neo4jStore

    return Neo4jStore(settings.neo4j, None if isinstance(clock, SystemClock) else clock)


def build_neo4j_points(store: "Neo4jStore") -> PointStore:
    """Build the place in Neo4j for the vectors of the NumPy index."""
    from propagation.adapters.neo4j.index.points import Neo4jPoints

    return Neo4jPoints(store.database)


@dataclass(frozen=True)
class StoreRow:
    """A graph store, and where it keeps the NumPy index's vectors."""

    build: Callable[[Settings, Clock | None], GraphStore]
    points: Callable[[Any], PointStore]


STORES: Mapping[str, StoreRow] = {
    "sqlite": StoreRow(build_sqlite_store, lambda store: SqlitePoints(store.database)),
    "neo4j": StoreRow(build_neo4j_store, build_neo4j_points),
}


def build_numpy_index(settings: Settings, store: GraphStore) -> VectorIndex:
    """Build the exact index, whose vectors are in the graph's store."""
    return NumpyIndex(STORES[settings.store].points(store))


def build_qdrant_index(settings: Settings, store: GraphStore) -> VectorIndex:
    """Build the index on a Qdrant server, not connected yet."""
    from propagation.adapters.qdrant.index import QdrantIndex
    from propagation.adapters.qdrant.server import connect

    qdrant = settings.qdrant
    key = qdrant.api_key.get_secret_value() if qdrant.api_key else None
    return QdrantIndex(
        connect(qdrant.url, qdrant.grpc_port, key, qdrant.timeout_seconds, qdrant.insecure),
        qdrant.prefix,
    )


INDEXES: Mapping[str, Callable[[Settings, GraphStore], VectorIndex]] = {
    "numpy": build_numpy_index,
    "qdrant": build_qdrant_index,
}


@dataclass(frozen=True)
class ModelPorts:
    """Parts that a reasoner or an embedder is built from."""

    settings: Settings
    store: GraphStore

    @cached_property
    def endpoint(self) -> "Endpoint":
        """The OpenAI-compatible endpoint, which the reasoner and the embedder share.

        The key is read from the environment here and nowhere else.
        """
        from propagation.adapters.openai.endpoint.endpoint import create_openai_endpoint

        options = self.settings.openai
        return create_openai_endpoint(
            options, os.environ.get(options.key_variable), self.store, process_name()
        )


def build_offline_reasoner(ports: ModelPorts) -> Reasoner:
    """Build the reasoner that needs no language model."""
    return OfflineReasoner(ports.settings.workflow.profile_lines)


def build_openai_reasoner(ports: ModelPorts, asker: "QuestionAsker | None" = None) -> Reasoner:
    """Build the reasoner behind an endpoint.

    The offline reasoner is its fallback, unless the setting `openai.fallback` is "never". It
    predicts in the model's stead if the setting `openai.predict` is "offline". It writes the texts
    of routers for which the model wrote none that is usable, and all of them if the setting
    `openai.router_texts` is "offline".

    Args:
        asker: Asks the questions; None: one of the reasoner's own.
    """
    from propagation.adapters.openai.paper_reasoner import create_openai_reasoner

    reasoner: Reasoner = create_openai_reasoner(ports.endpoint, ports.store, extract_lines, asker)
    options, offline = ports.settings.openai, build_offline_reasoner(ports)
    asks_model = options.router_texts == "model"
    reasoner = DelegatedRouterTexts(reasoner, offline, asks_first=asks_model)
    if options.fallback != "never":
        unavailable = options.fallback == "unavailable"
        reasoner = FallbackReasoner(reasoner, offline, unavailable=unavailable)
    if options.predict == "offline":
        reasoner = DelegatedPrediction(reasoner, offline)
    return reasoner


def build_openai_embedder(ports: ModelPorts) -> Embedder:
    """Build the embedder behind an endpoint."""
    from propagation.adapters.openai.embedder import create_openai_embedder

    return create_openai_embedder(ports.endpoint, ports.store)


def build_hashed_embedder(settings: Settings) -> FittableEmbedder:
    """Build the embedder that counts words, not fitted."""
    return HashedEmbedder(settings.workflow.seed)


def build_sentence_embedder(settings: Settings) -> FittableEmbedder:
    """Build the embedder of the model in `sentences.folder`, not fitted.

    Raises:
        NotInstalled: The packages that run the model are missing.
        IncompatibleSettings: The folder holds no model that can be used.
    """
    try:
        from propagation.adapters.sentences.embedder import create_sentence_embedder
    except ImportError as error:
        raise NotInstalled("embedder=sentences", "sentences") from error
    return create_sentence_embedder(settings.sentences, settings.workflow.seed)


REASONERS: Mapping[str, Callable[[ModelPorts], Reasoner]] = {
    "offline": build_offline_reasoner,
    "openai": build_openai_reasoner,
}
FITTABLE_EMBEDDERS: Mapping[str, Callable[[Settings], FittableEmbedder]] = {
    "fitted": build_hashed_embedder,
    "sentences": build_sentence_embedder,
}
EMBEDDERS: Mapping[str, Callable[[ModelPorts], Embedder]] = {
    "fitted": lambda ports: build_hashed_embedder(ports.settings),
    "sentences": lambda ports: build_sentence_embedder(ports.settings),
    "openai": build_openai_embedder,
}


def build_graph_store(settings: Settings, clock: Clock | None = None) -> GraphStore:
    """Build the store alone, not opened; `clock` is the system's by default."""
    return STORES[settings.store].build(settings, clock)


def build_engine(
    settings: Settings,
    yield_to_calls: Callable[[], Awaitable[None]] = yield_to_loop,
    clock: Clock | None = None,
    instrument: Callable[[GraphStore, VectorIndex], tuple[GraphStore, VectorIndex]] | None = None,
    wrap_reasoner: Callable[[Reasoner], Reasoner] = lambda reasoner: reasoner,
) -> Engine:
    """Build the engine of one process from its settings, not opened.

    By default it uses SQLite, NumPy, the offline reasoner and the fitted embedder, which need no
    server, no network and no key.

    Args:
        yield_to_calls: Awaited between pieces of reasoning, so that calls get their turn.
        clock: The system's by default.
        instrument: Wraps the store and the index, for monitoring.
        wrap_reasoner: Wraps the reasoner, for counting. It sees what this process asks: with
            `reasoning_in = "process"` another one drafts.
    """
    store = build_graph_store(settings, clock)
    models = ModelPorts(settings, store)
    reasoner = wrap_reasoner(REASONERS[settings.reasoner](models))
    embedder = EMBEDDERS[settings.embedder](models)
    index = INDEXES[settings.index](settings, store)
    if instrument is not None:
        store, index = instrument(store, index)
    return compose(
        store,
        embedder,
        index,
        reasoner,
        settings.workflow,
        process_name(),
        yield_to_calls,
        build_process_drafter(settings, store),
    )


def build_process_drafter(settings: Settings, store: GraphStore) -> ProcessDrafter | None:
    """Build the drafter that works in a child process, if asked for.

    Its first claim starts the child.

    Args:
        store: The engine's store. If it is instrumented, texts of the child are counted, too.

    Returns:
        None if the settings let this process draft.
    """
    asked_for = settings.reasoner == "offline" and settings.reasoning_in == "process"
    if not asked_for or settings.graph_file is None:
        return None
    return ProcessDrafter(
        cast(PackedStore, store), Begin(settings.graph_file.resolve(), settings.workflow)
    )
