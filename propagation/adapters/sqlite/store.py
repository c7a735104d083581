"""The graph store on one SQLite file: every port, one database."""

from pathlib import Path

from propagation.adapters.sqlite.database import Database
from propagation.adapters.sqlite.learn import SqliteLearn
from propagation.adapters.sqlite.leases import SqliteLeases
from propagation.adapters.sqlite.reason import SqliteReason
from propagation.adapters.sqlite.record import Directory, SqliteRecords
from propagation.adapters.sqlite.rounds import SqliteRounds
from propagation.ports.clock import Clock


class SqliteStore(SqliteRecords, SqliteLearn, SqliteReason, SqliteRounds, SqliteLeases):
    """One writer process a file; see database.py. `max_bytes` limits the file (default: the disk)."""

    def __init__(self, path: Path, clock: Clock, max_bytes: int | None = None) -> None:
        directory = Directory()
        database = Database(path, directory, max_bytes)
        SqliteRecords.__init__(self, database, directory, clock)
        SqliteLearn.__init__(self, database, self)
        SqliteReason.__init__(self, database, self, clock)
        SqliteRounds.__init__(self, database, self)
        SqliteLeases.__init__(self, database, clock)
        self.database = database

    async def open(self) -> None:
        self.database.open()
        await self.database.read(self.load)

    async def close(self) -> None:
        self.database.close()

    async def check(self) -> list[str]:
        return await self.database.read(lambda connection: [
            f"integrity: {row[0]}" for row in connection.execute("PRAGMA integrity_check") if row[0] != "ok"])
