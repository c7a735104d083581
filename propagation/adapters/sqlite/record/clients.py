"""ClientStore on SQLite."""

import sqlite3
import sys
from collections.abc import Sequence
from itertools import chain
from typing import Any

import orjson

from propagation.adapters.sqlite.connection import SqlitePart, put, reads, spread_fields, to_json
from propagation.graph_rules import list_words_of
from propagation.model import Client, ClientKey, ClientKind

CONTENT = ("title", "description", "attributes", "categories", "hidden", "metadata", "sequence")
COLUMNS = ", ".join(("ref", "kind", "id", *CONTENT, "only_in_events"))
KEEP_BEFORE = (
    f"INSERT INTO client_before (ref, until, {', '.join(CONTENT)}) SELECT ref, ?, "
    f"{', '.join(CONTENT)}"
    " FROM json_each(?) e CROSS JOIN client ON ref = e.value"
)
# The clients as they were at a sequence; with NULL, as they are now.
AS_OF = (
    "SELECT c.ref, c.kind, c.id, "
    + ", ".join(f"iif(b.ref IS NULL, c.{name}, b.{name})" for name in CONTENT)
    + ", c.only_in_events FROM json_each(?) e CROSS JOIN client c ON c.ref = e.value"
    " LEFT JOIN client_before b ON b.ref = c.ref AND b.until ="
    " (SELECT min(n.until) FROM client_before n WHERE n.ref = c.ref AND n.until > ?)"
    " ORDER BY e.key"
)
CONTENTS = (
    f"SELECT {COLUMNS} FROM client WHERE ref IN (SELECT value FROM json_each(?1)) UNION ALL SELECT "
    f"b.ref, c.kind, c.id, {', '.join(f'b.{name}' for name in CONTENT)}, 0 FROM client_before b "
    "JOIN client c ON c.ref = b.ref WHERE b.ref IN (SELECT value FROM json_each(?1)) "
    "ORDER BY 1, sequence"
)
# The words of clients as they are stored now.
WORDS_OF = (
    "SELECT c.ref & 1, w.value, c.ref FROM json_each(?) e CROSS JOIN client c ON c.ref = e.value"
    " CROSS JOIN json_each(search_words(c.id, c.title, c.attributes, c.categories)) w"
)
# One row at a time: with (kind, word, ref) IN (...) SQLite would read all words of a kind.
DROP_WORD = "DELETE FROM client_word WHERE kind = ? AND word = ? AND ref = ?"
HAS_WORD = "SELECT ref FROM client_word WHERE kind = ? AND word >= ? AND word < ? AND ref > ?"
AFTER_ALL_LETTERS = chr(sys.maxunicode)


class SqliteClients(SqlitePart):
    """Reads clients; ids and refs are looked up in memory."""

    async def find_refs(self, keys: Sequence[ClientKey]) -> Sequence[int | None]:
        return [self._directory.ref(key.kind, key.id) for key in keys]

    async def find_keys(self, refs: Sequence[int]) -> Sequence[ClientKey | None]:
        return [self._directory.key(ref) for ref in refs]

    async def get_clients(self, refs: Sequence[int], as_of: int | None = None) -> Sequence[Client]:
        return await self._database.read(
            lambda connection: read_clients(connection, refs, as_of), len(refs)
        )

    @reads
    def get_client_contents(
        self, connection: sqlite3.Connection, refs: Sequence[int]
    ) -> Sequence[Client]:
        return [
            _build_client(row)
            for row in connection.execute(CONTENTS, (to_json(list(refs)),)).fetchall()
        ]

    @reads
    def scan_clients(
        self, connection: sqlite3.Connection, kind: ClientKind, after_ref: int, limit: int
    ) -> Sequence[Client]:
        rows = connection.execute(
            f"SELECT {COLUMNS} FROM client WHERE ref > ? AND kind = ? ORDER BY ref LIMIT ?",
            (after_ref, int(kind), limit),
        )
        return [_build_client(row) for row in rows.fetchall()]

    @reads
    def find_clients_by_words(
        self,
        connection: sqlite3.Connection,
        kind: ClientKind,
        words: Sequence[str],
        after_ref: int,
        limit: int,
    ) -> Sequence[int]:
        # Each part of the compound has distinct refs. Without words it would be no statement.
        rows = connection.execute(
            " INTERSECT ".join([HAS_WORD] * len(words)) + " ORDER BY ref LIMIT ?"
            if len(words) > 1
            else f"SELECT DISTINCT ref FROM ({HAS_WORD}) ORDER BY ref LIMIT ?",
            (
                *chain.from_iterable(
                    (int(kind), word, word + AFTER_ALL_LETTERS, after_ref) for word in words
                ),
                limit,
            ),
        )
        return [ref for (ref,) in rows]

    async def count_clients(self, kind: ClientKind) -> int:
        return self._directory.count(kind)


def read_clients(
    connection: sqlite3.Connection, refs: Sequence[int], as_of: int | None = None
) -> list[Client]:
    """Return clients in the order of `refs`; unknown refs are left out."""
    return [
        _build_client(row)
        for row in connection.execute(AS_OF, (to_json(list(refs)), as_of)).fetchall()
    ]


def keep_contents(connection: sqlite3.Connection, clients: Sequence[Client], until: int) -> None:
    """Copy clients' present contents to `client_before`.

    Args:
        until: The sequence at which new contents replace them.
    """
    connection.execute(KEEP_BEFORE, (until, to_json([client.ref for client in clients])))


def drop_words(connection: sqlite3.Connection, refs: Sequence[int]) -> None:
    """Delete the search words of clients, before their contents change.

    The words are computed, because no index finds them by client: it would cost every event that
    creates one. They are those that are stored, as `renew_words` makes them anew if the rules or
    Unicode's tables change.
    """
    words = connection.execute(WORDS_OF, (to_json(list(refs)),)).fetchall()
    connection.executemany(DROP_WORD, words)


def erase_words(connection: sqlite3.Connection, refs: Sequence[int]) -> None:
    """Delete every search word of clients that are erased.

    It reads the whole table: 0.1 s for 1.5 million words of 150,000 clients.
    """
    connection.execute(
        "DELETE FROM client_word WHERE ref IN (SELECT value FROM json_each(?))",
        (to_json(list(refs)),),
    )


def put_clients(
    connection: sqlite3.Connection, clients: Sequence[Client], sequence: int, *, new: bool
) -> None:
    """Insert new clients, or replace the content of others, at a sequence.

    Args:
        new: Whether the store has none of the clients.
    """
    if not new:
        drop_words(connection, [client.ref for client in clients])
    words = [
        (int(client.key.kind), word, client.ref)
        for client in clients
        for word in list_words_of(client)
    ]
    put(connection, "client_word", 3, words)
    rows = [
        (
            client.ref,
            int(client.key.kind),
            client.key.id,
            client.title,
            client.description,
            to_json(client.attributes),
            to_json(client.categories),
            int(client.hidden),
            to_json(dict(client.metadata)),
            sequence,
            int(client.only_in_events),
        )
        for client in clients
    ]
    connection.execute(
        (
            f"INSERT INTO client ({COLUMNS}) SELECT {spread_fields(11)} FROM json_each(?) WHERE"
            " true ON CONFLICT (ref) DO UPDATE SET "
        )
        + ", ".join(f"{name} = excluded.{name}" for name in (*CONTENT, "only_in_events")),
        (to_json(rows),),
    )


def _build_client(row: Sequence[Any]) -> Client:
    ref, kind, id_, title, description, attributes, categories, hidden, metadata, sequence = row[
        :10
    ]
    return Client(
        ref=ref,
        key=ClientKey(kind=ClientKind(kind), id=id_),
        title=title,
        description=description,
        attributes=tuple(orjson.loads(attributes)),
        categories=tuple(orjson.loads(categories)),
        hidden=bool(hidden),
        metadata=orjson.loads(metadata),
        sequence=sequence,
        only_in_events=bool(row[10]),
    )
