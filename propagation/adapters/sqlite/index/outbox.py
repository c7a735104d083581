"""OutboxStore on SQLite."""

import sqlite3
from collections.abc import Iterable, Mapping, Sequence

import orjson

from propagation.adapters.sqlite.connection.database import Database
from propagation.adapters.sqlite.connection.json_rows import dumped, one, put
from propagation.adapters.sqlite.connection.leases import check_fence
from propagation.model import ClientKind, Round, RouterVersion, kind_of
from propagation.ports import Clock, Collection, IndexChange, Lease

COLLECTIONS = {ClientKind.USER: Collection.USERS, ClientKind.ITEM: Collection.ITEMS}
PUT = (
    "INSERT INTO outbox (collection, key, round, version, at) SELECT value->>0, value->>1, "
    "value->>2, value->>3, ?2"
    " FROM json_each(?1) WHERE true"
    " ON CONFLICT (collection, key, round) DO UPDATE SET version = excluded.version, at = "
    "excluded.at"
)
DROP = "DELETE FROM outbox WHERE collection = ? AND key = ? AND round = ? AND version <= ?"


class SqliteOutbox:
    """Rows by (collection, key, round)."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    async def stage_changes(
        self, lease: Lease, round_: Round, changes: Sequence[IndexChange]
    ) -> None:
        def work(connection: sqlite3.Connection) -> None:
            check_fence(connection, lease)
            put(
                connection,
                "staged_outbox",
                3,
                [(change.collection, _key(change.key), change.version) for change in changes],
                "INSERT OR REPLACE",
            )

        await self._database.write(work)

    async def pending_changes(self, age_ms: int, limit: int) -> Sequence[IndexChange]:
        latest = self._clock.now_ms() - age_ms
        return await self._database.read(
            lambda connection: [
                IndexChange(
                    collection=Collection(collection),
                    key=orjson.loads(key),
                    version=version,
                    round=round_,
                )
                for collection, key, version, round_ in connection.execute(
                    (
                        "SELECT collection, key, version, round FROM outbox WHERE at <= ? ORDER BY "
                        "at, collection, key LIMIT ?"
                    ),
                    (latest, limit),
                ).fetchall()
            ]
        )

    async def drop_changes(self, changes: Sequence[IndexChange]) -> None:
        rows = [
            (change.collection, _key(change.key), change.round, change.version)
            for change in changes
        ]
        if rows:
            await self._database.write(lambda connection: connection.executemany(DROP, rows))

    async def count_changes(self) -> int:
        return int(
            await self._database.read(
                lambda connection: one(connection, "SELECT count(*) FROM outbox")
            )
        )


def put_texts_out(connection: sqlite3.Connection, versions: Mapping[int, int], at: int) -> None:
    """Put new versions of clients' texts into the outbox, in the transaction that writes them."""
    if versions:
        rows = [
            (COLLECTIONS[kind_of(ref)], _key(ref), 0, version) for ref, version in versions.items()
        ]
        connection.execute(PUT, (dumped(rows), at))


def put_messages_out(
    connection: sqlite3.Connection, messages: Iterable[RouterVersion], at: int
) -> None:
    """Put messages whose text changed, under the same version, into the outbox."""
    rows = [
        (Collection.ROUTERS, _key(message.router), message.round, message.version)
        for message in messages
    ]
    connection.execute(PUT, (dumped(rows), at))


def publish_changes(connection: sqlite3.Connection, round_: int, at: int) -> None:
    """Make staged changes wait, in the transaction that publishes the round."""
    connection.execute(
        "INSERT OR REPLACE INTO outbox (collection, key, round, version, at)"
        " SELECT collection, key, ?, version, ? FROM staged_outbox",
        (round_, at),
    )
    connection.execute("DELETE FROM staged_outbox")


def _key(key: int | str) -> str:
    return str(key) if isinstance(key, int) else dumped(key)
