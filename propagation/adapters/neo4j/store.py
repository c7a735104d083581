"""The graph store on Neo4j: every port on one database.

Any number of processes may use it.
"""

from collections.abc import Sequence

from propagation.adapters.neo4j.connection import (
    Neo4jDatabase,
    Neo4jLeases,
    load_statements,
    open_database,
)
from propagation.adapters.neo4j.forget.client_export import Neo4jExport
from propagation.adapters.neo4j.forget.erasure import Neo4jErasure
from propagation.adapters.neo4j.forget.retention import Neo4jRetention
from propagation.adapters.neo4j.index.outbox import Neo4jOutbox
from propagation.adapters.neo4j.learn.learn import Neo4jLearn
from propagation.adapters.neo4j.maintenance.consistency_check import find_inconsistencies
from propagation.adapters.neo4j.reason.reason import Neo4jReason
from propagation.adapters.neo4j.reason.text_check import find_damaged_texts
from propagation.adapters.neo4j.record.clients import Neo4jClients
from propagation.adapters.neo4j.record.record import Neo4jRecords
from propagation.adapters.neo4j.rounds.evolution import Neo4jEvolution
from propagation.adapters.neo4j.rounds.rounds import Neo4jRounds
from propagation.adapters.neo4j.settings import Neo4jSettings
from propagation.model import Backup, StagedCheckpoint, Withdrawal, WithdrawalResult
from propagation.ports import Clock, GraphStore, Lease


class Neo4jStore(
    Neo4jRecords,
    Neo4jClients,
    Neo4jLearn,
    Neo4jReason,
    Neo4jRounds,
    Neo4jEvolution,
    Neo4jRetention,
    Neo4jOutbox,
    Neo4jLeases,
    Neo4jErasure,
    Neo4jExport,
    GraphStore,
):
    """All ports of the graph store."""

    def __init__(self, settings: Neo4jSettings, clock: Clock | None = None) -> None:
        """Prepare the store; without `clock`, the server's clock is used."""
        self.database = Neo4jDatabase(settings, load_statements(), clock)
        super().__init__(self.database)
        self.retries = self.database.retries

    async def open(self) -> None:
        try:
            await open_database(self.database)
        except BaseException:
            await self.database.close()
            raise

    async def close(self) -> None:
        await self.database.close()

    async def withdraw(
        self, lease: Lease, withdrawal: Withdrawal, barrier: StagedCheckpoint
    ) -> WithdrawalResult:
        result = await super().withdraw(lease, withdrawal, barrier)
        self.newest_texts.clear()  # they may hold what was withdrawn
        return result

    async def list_backups(self) -> Sequence[Backup]:
        return ()

    async def check(self) -> list[str]:
        return await find_inconsistencies(self.database) + await find_damaged_texts(self.database)
