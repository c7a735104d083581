"""Ports to storage, models, the vector index and the clock."""

from propagation.ports.clock import Clock
from propagation.ports.embedder import Embedder, FittableEmbedder
from propagation.ports.graph.forget import EXPORTED_KINDS
from propagation.ports.graph.graph_store import GraphStore, VersionClash
from propagation.ports.graph.leases import CACHED, LONGEST_LEASE_MS, BlobStore, Lease, LeaseStore
from propagation.ports.graph.outbox import IndexChange, OutboxStore
from propagation.ports.graph.reason import InteractionReader
from propagation.ports.graph.record import ClientStore, RecordResult
from propagation.ports.graph.rounds import POSTPONED_ARRIVALS, Publication, RoundStore
from propagation.ports.model_exchange import Exchanges, note_exchange, noting_exchanges
from propagation.ports.model_work import ModelWork, asking_for, current_work
from propagation.ports.reasoner import (
    AnswerPart,
    BackwardAnswer,
    ExtractAnswer,
    ForwardAnswer,
    Integration,
    MergeAnswer,
    OptimizeAnswer,
    Party,
    RankAnswer,
    Reasoner,
    SummarizeAnswer,
    Summary,
)
from propagation.ports.vector_index import (
    COLLECTIONS,
    Collection,
    Hit,
    IndexWriter,
    Point,
    VectorIndex,
    check_embedder,
    check_vector,
    normalize_rows,
)
from propagation.ports.withdrawal_context import read_after, texts_read_after
