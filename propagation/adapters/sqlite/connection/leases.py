"""LeaseStore and BlobStore on SQLite."""

import sqlite3

from propagation.adapters.sqlite.connection.json_rows import (
    LAST_WITHDRAWAL,
    read_fact,
    read_one,
    read_progress,
)
from propagation.adapters.sqlite.connection.transactions import (
    SqlitePart,
    writes,
)
from propagation.ports import LONGEST_LEASE_MS, Lease


class SqliteLeases(SqlitePart):
    """Stores leases, which expire by this machine's clock, and named bytes."""

    @writes
    def acquire_lease(
        self, connection: sqlite3.Connection, name: str, holder: str, ttl_ms: int
    ) -> Lease | None:
        now = self._clock.now_ms()
        row = connection.execute(
            "SELECT holder, token, expires FROM lease WHERE name = ?", (name,)
        ).fetchone()
        held = row is not None and now < row[2] <= now + LONGEST_LEASE_MS
        if held and row[0] != holder:
            return None
        token = 1 if row is None else row[1] + (not held)
        connection.execute(
            "INSERT OR REPLACE INTO lease VALUES (?, ?, ?, ?)", (name, holder, token, now + ttl_ms)
        )
        return Lease(name=name, holder=holder, token=token)

    async def get_lease_holder(self, name: str) -> str | None:
        now = self._clock.now_ms()
        return await self._database.read(
            lambda connection: read_one(
                connection,
                "SELECT holder FROM lease WHERE name = ? AND expires > ? AND expires <= ?",
                name,
                now,
                now + LONGEST_LEASE_MS,
            ),
            1,
        )

    @writes
    def release_lease(self, connection: sqlite3.Connection, lease: Lease) -> None:
        connection.execute(
            "UPDATE lease SET expires = 0 WHERE name = ? AND token = ?", (lease.name, lease.token)
        )

    async def get_blob(self, name: str) -> bytes | None:
        return await self._database.read(lambda connection: read_fact(connection, name), rows=1)

    async def put_blob(self, name: str, value: bytes, lease: Lease | None = None) -> None:
        leases = [] if lease is None else [lease]
        await self._database.write(
            lambda connection: connection.execute(
                "INSERT OR REPLACE INTO meta VALUES (?, ?)", (name, value)
            ),
            *leases,
        )

    @writes
    def put_cached(
        self, connection: sqlite3.Connection, name: str, value: bytes, after_withdrawal: int
    ) -> None:
        if read_progress(connection, LAST_WITHDRAWAL) == after_withdrawal:
            connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (name, value))
