"""The graph store, which is the source of truth.

An adapter implements all its ports on one database. A method that needs only other methods of its
port is implemented in the port itself.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Protocol

from propagation.model import Backup, PropagationError
from propagation.ports.graph.forget import ErasureStore, ExportStore, RetentionStore
from propagation.ports.graph.learn import LearnStore
from propagation.ports.graph.leases import BlobStore, LeaseStore
from propagation.ports.graph.outbox import OutboxStore
from propagation.ports.graph.reason import ReasonStore
from propagation.ports.graph.record import ClientStore, RecordStore
from propagation.ports.graph.rounds import EvolutionStore, RoundStore


class VersionClash(PropagationError):
    """Another writer committed this client's next version first.

    Load the newest version, redo the edits on it, and commit again.
    """

    def __init__(self, ref: int) -> None:
        super().__init__(
            f"another writer changed the texts of client {ref} first; nothing was stored, try again"
        )
        self.ref = ref


class GraphStore(
    RecordStore,
    ClientStore,
    LearnStore,
    ReasonStore,
    RoundStore,
    ErasureStore,
    ExportStore,
    RetentionStore,
    LeaseStore,
    BlobStore,
    EvolutionStore,
    OutboxStore,
    Protocol,
):
    """All ports that the service needs of a graph store.

    Every commit is atomic and durable before its method returns. Every method raises
    StoreUnreachable while a server does not answer, and StoreFull if nothing more can be written.
    Strings hold any Unicode except U+0000; a store raises InvalidInput for it.

    Attributes:
        retries: How often transactions were repeated, by (metric, statement).
    """

    retries: Counter[tuple[str, str]]

    async def open(self) -> None:
        """Connect, check the database, and bring its schema up to date.

        Raises:
            StoreBusy: Another process holds the database.
            StoreCorrupt: The database cannot be read.
            StoreForeign: The database holds other data; nothing in it was touched.
            SchemaTooNew: A newer release wrote the database.
        """

    async def close(self) -> None:
        """Release the database; no method may be called afterwards."""

    async def list_backups(self) -> Sequence[Backup]:
        """Return the newest back-ups that this program made, oldest first.

        A database on a server has none: the server's own tools back it up.
        """

    async def check(self) -> list[str]:
        """Describe faults of the stored data, a sentence each.

        Returns:
            The sentences; none if the data is sound.
        """
