"""The outbox: changes that wait for the vector index (OutboxStore).

workflow/index/vector_sync.py delivers them.
"""

import sqlite3
from collections.abc import Iterable, Mapping, Sequence

import orjson

from propagation.adapters.sqlite.connection import (
    SqlitePart,
    put,
    read_one,
    reads,
    to_json,
    writes,
    writes_under_lease,
)
from propagation.model import Round, RouterVersion, get_kind
from propagation.ports import COLLECTIONS, Collection, IndexChange

PUT = (
    "INSERT INTO outbox (collection, key, round, version, at) SELECT value->>0, value->>1, "
    "value->>2, value->>3, ?2"
    " FROM json_each(?1) WHERE true"
    " ON CONFLICT (collection, key, round) DO UPDATE SET version = excluded.version, at = "
    "excluded.at"
)


class SqliteOutbox(SqlitePart):
    """Stores index changes as rows, one for each (collection, key, round)."""

    @writes_under_lease
    def stage_changes(
        self,
        connection: sqlite3.Connection,
        round_: Round,
        changes: Sequence[IndexChange],
    ) -> None:
        put(
            connection,
            "staged_outbox",
            3,
            [(change.collection, to_json(change.key), change.version) for change in changes],
            "INSERT OR REPLACE",
        )

    @reads
    def get_pending_changes(
        self, connection: sqlite3.Connection, age_ms: int, limit: int
    ) -> Sequence[IndexChange]:
        return [
            IndexChange(Collection(collection), orjson.loads(key), version, round_)
            for collection, key, version, round_ in connection.execute(
                "SELECT collection, key, version, round FROM outbox WHERE at <= ? ORDER BY "
                "at, collection, key LIMIT ?",
                (self._clock.now_ms() - age_ms, limit),
            )
        ]

    @writes
    def drop_changes(self, connection: sqlite3.Connection, changes: Sequence[IndexChange]) -> None:
        connection.executemany(
            "DELETE FROM outbox WHERE collection = ? AND key = ? AND round = ? AND version <= ?",
            [
                (change.collection, to_json(change.key), change.round, change.version)
                for change in changes
            ],
        )

    @reads
    def count_changes(self, connection: sqlite3.Connection) -> int:
        return int(read_one(connection, "SELECT count(*) FROM outbox"))


def put_texts_out(connection: sqlite3.Connection, versions: Mapping[int, int], at: int) -> None:
    """Put new versions of clients' texts into the outbox.

    Call it in the transaction that writes the texts.

    Args:
        versions: New version of each client's text, by ref.
        at: Commit time in milliseconds since 1970.
    """
    rows = [
        (COLLECTIONS[get_kind(ref)], to_json(ref), 0, version) for ref, version in versions.items()
    ]
    connection.execute(PUT, (to_json(rows), at))


def put_messages_out(
    connection: sqlite3.Connection, messages: Iterable[RouterVersion], at: int
) -> None:
    """Put messages into the outbox whose text changed under the same version."""
    rows = [
        (Collection.ROUTERS, to_json(message.router), message.round, message.version)
        for message in messages
    ]
    connection.execute(PUT, (to_json(rows), at))


def publish_changes(connection: sqlite3.Connection, round_: int, at: int) -> None:
    """Make staged changes pending; call it where the round is published."""
    connection.execute(
        "INSERT OR REPLACE INTO outbox (collection, key, round, version, at)"
        " SELECT collection, key, ?, version, ? FROM staged_outbox",
        (round_, at),
    )
    connection.execute("DELETE FROM staged_outbox")
