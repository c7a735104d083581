"""The graph store on one SQLite file: every port on one database.

A process that drafts texts reads the file while the service holds it.
"""

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from propagation.adapters.sqlite.connection import Database, Directory, ReadConnection, SqliteLeases
from propagation.adapters.sqlite.forget.client_export import SqliteExport
from propagation.adapters.sqlite.forget.erasure import SqliteErasure
from propagation.adapters.sqlite.forget.retention import SqliteRetention
from propagation.adapters.sqlite.index.outbox import SqliteOutbox
from propagation.adapters.sqlite.learn.learn import SqliteLearn, read_bootstrap_sequence
from propagation.adapters.sqlite.maintenance.backup_list import read_backups
from propagation.adapters.sqlite.maintenance.consistency_check import find_inconsistencies
from propagation.adapters.sqlite.reason.reason import SqliteReason, read_interactions
from propagation.adapters.sqlite.reason.texts import read_newest_versions, read_texts_or_empty
from propagation.adapters.sqlite.record.clients import SqliteClients, read_clients
from propagation.adapters.sqlite.record.record import SqliteRecords
from propagation.adapters.sqlite.rounds.evolution import SqliteEvolution
from propagation.adapters.sqlite.rounds.messages import get_waiting_messages
from propagation.adapters.sqlite.rounds.rounds import SqliteRounds, get_last_rounds
from propagation.model import Backup, Client, ClientText, InteractionRow, Round, RouterVersion
from propagation.ports import Clock, GraphStore, InteractionReader


class SqliteStore(
    SqliteRecords,
    SqliteClients,
    SqliteLearn,
    SqliteReason,
    SqliteRounds,
    SqliteRetention,
    SqliteLeases,
    SqliteEvolution,
    SqliteOutbox,
    SqliteErasure,
    SqliteExport,
    GraphStore,
):
    """All ports on one file with one writing process."""

    def __init__(self, path: Path, clock: Clock) -> None:
        self.database = Database(path, Directory(clock))
        super().__init__(self.database)
        self.retries: Counter[tuple[str, str]] = Counter()  # its one writer meets no deadlock

    async def open(self) -> None:
        self.database.open()

    async def close(self) -> None:
        await self.database.after_commit.finish()
        self.database.close()

    async def list_backups(self) -> Sequence[Backup]:
        return await asyncio.to_thread(read_backups, self.database.path)

    async def check(self) -> list[str]:
        return await self.database.read(find_inconsistencies)


class SqliteInteractionReader(InteractionReader):
    """InteractionReader on a file that another process opened and locked."""

    def __init__(self, path: Path) -> None:
        self._reader = ReadConnection(path)

    async def get_clients(self, refs: Sequence[int]) -> Sequence[Client]:
        return self._reader.read(lambda connection: read_clients(connection, refs))

    async def load_texts(self, refs: Sequence[int]) -> Mapping[int, ClientText]:
        return self._reader.read(lambda connection: read_texts_or_empty(connection, refs))

    async def get_text_versions(self, refs: Sequence[int]) -> Mapping[int, int]:
        return self._reader.read(lambda connection: read_newest_versions(connection, refs))

    async def get_interactions(self, sequences: Sequence[int]) -> Sequence[InteractionRow]:
        return self._reader.read(lambda connection: read_interactions(connection, sequences))

    async def get_last_rounds(self, limit: int) -> Sequence[Round]:
        return self._reader.read(lambda connection: get_last_rounds(connection, limit))

    async def get_bootstrap_sequence(self, at: int | None = None) -> int:
        return self._reader.read(lambda connection: read_bootstrap_sequence(connection, at))

    async def get_waiting_messages(
        self, refs_after: Mapping[int, int], through: int | None = None
    ) -> Mapping[int, Sequence[RouterVersion]]:
        return self._reader.read(
            lambda connection: get_waiting_messages(connection, refs_after, through)
        )
