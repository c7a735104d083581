"""The graph store on one SQLite file: every port on one database."""

import sqlite3
from pathlib import Path

from propagation.adapters.sqlite.connection import Database, Directory, SqliteLeases, free_all
from propagation.adapters.sqlite.forget.client_export import SqliteExport
from propagation.adapters.sqlite.forget.erasure import SqliteErasure
from propagation.adapters.sqlite.forget.retention import SqliteRetention
from propagation.adapters.sqlite.index.outbox import SqliteOutbox
from propagation.adapters.sqlite.learn.learn import SqliteLearn
from propagation.adapters.sqlite.maintenance.consistency_check import findings
from propagation.adapters.sqlite.reason.reason import SqliteReason
from propagation.adapters.sqlite.record.clients import SqliteClients
from propagation.adapters.sqlite.record.record import SqliteRecords
from propagation.adapters.sqlite.rounds.evolution import SqliteEvolution
from propagation.adapters.sqlite.rounds.rounds import SqliteRounds
from propagation.ports import Clock


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
):
    """All ports on one file with one writing process."""

    def __init__(self, path: Path, clock: Clock) -> None:
        self.database = Database(path, Directory(clock))
        super().__init__(self.database)

    async def open(self) -> None:
        self.database.open()
        try:
            await self.database.write(self._start)
        except BaseException:
            self.database.close()
            raise

    def _start(self, connection: sqlite3.Connection) -> None:
        self._directory.load(connection)
        free_all(connection)

    async def close(self) -> None:
        await self.finish_sweep()
        self.database.close()

    async def check(self) -> list[str]:
        return await self.database.read(findings)
