"""The graph store: the source of truth. Every adapter is all of these ports on one database."""

from typing import Protocol, runtime_checkable

from propagation.ports.graph.evolution import EvolutionStore
from propagation.ports.graph.forget import ErasureStore, ExportStore, RetentionStore
from propagation.ports.graph.learn import LearnStore
from propagation.ports.graph.leases import BlobStore, LeaseStore
from propagation.ports.graph.outbox import OutboxStore
from propagation.ports.graph.reason import ReasonStore
from propagation.ports.graph.record import ClientStore, RecordStore
from propagation.ports.graph.rounds import RoundStore


class VersionClash(Exception):
    """Another worker wrote this client's next version first: load it and redo the edits on it."""

    def __init__(self, ref: int) -> None:
        super().__init__(f"client {ref} has a newer version")
        self.ref = ref


class GraphStore(
    RecordStore,
    ClientStore,
    LearnStore,
    ReasonStore,
    RoundStore,
    RetentionStore,
    LeaseStore,
    BlobStore,
    EvolutionStore,
    OutboxStore,
    Protocol,
):
    """Strings hold any Unicode but U+0000, which the edge refuses (the stores raise InvalidInput)."""

    async def open(self) -> None:
        """Connect, check that the database is ours and of a schema we know, migrate it. Raises
        StoreBusy, StoreCorrupt, SchemaTooNew."""

    async def close(self) -> None: ...

    async def check(self) -> list[str]:
        """What is wrong with the stored data, in sentences; empty when it is sound."""


@runtime_checkable
class ForgettingGraph(GraphStore, ErasureStore, ExportStore, Protocol):
    """A graph store that can take back, forget, and say what it holds on a client."""
