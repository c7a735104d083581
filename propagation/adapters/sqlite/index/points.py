"""The NumPy index's points, in the graph's file."""

import sqlite3
from collections.abc import Sequence

import numpy as np
import orjson

from propagation.adapters.sqlite.connection import SqlitePart, read_fact, reads, to_json, writes
from propagation.ports import Point

DESCRIPTION = "vector_index"
NO_ATTRIBUTES: frozenset[str] = frozenset()
PUT = (
    "INSERT INTO point SELECT ?1, value->>0, value->>1, substr(?3, key * (value->>3) + 1,"
    " value->>3), value->>2 FROM json_each(?2) WHERE true ON CONFLICT (collection, key) DO UPDATE"
    " SET version = excluded.version, vector = excluded.vector, attributes = excluded.attributes"
    " WHERE excluded.version >= point.version"
)


class SqlitePoints(SqlitePart):
    """Rows of the table `point`.

    Keys are JSON, so that 7 and "7" differ.
    """

    @reads
    def get_description(self, connection: sqlite3.Connection) -> bytes | None:
        return read_fact(connection, DESCRIPTION)

    @writes
    def describe(
        self, connection: sqlite3.Connection, description: bytes, shelves: Sequence[str]
    ) -> None:
        connection.execute(
            "DELETE FROM point WHERE collection NOT IN (SELECT value FROM json_each(?))",
            (to_json(list(shelves)),),
        )
        connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (DESCRIPTION, description))

    @reads
    def load_points(self, connection: sqlite3.Connection, shelf: str) -> Sequence[Point]:
        rows = connection.execute(
            "SELECT key, version, vector, attributes FROM point WHERE collection = ?", (shelf,)
        ).fetchall()
        # One document is decoded, not one for each point: a start waits for this.
        keys = orjson.loads(f"[{','.join([row[0] for row in rows])}]")
        return [
            Point(
                key=key,
                version=version,
                vector=np.frombuffer(vector, np.float32),
                attributes=NO_ATTRIBUTES
                if attributes == "[]"
                else frozenset(orjson.loads(attributes)),
            )
            for key, (_, version, vector, attributes) in zip(keys, rows, strict=True)
        ]

    async def put_points(self, shelf: str, points: Sequence[Point]) -> None:
        rows = to_json(
            [
                (
                    to_json(point.key),
                    point.version,
                    to_json(sorted(point.attributes)),
                    len(point.vector) * 4,
                )
                for point in points
            ]
        )
        vectors = b"".join(point.vector.astype(np.float32).tobytes() for point in points)
        await self._database.write(
            lambda connection: connection.execute(PUT, (shelf, rows, vectors))
        )

    @writes
    def drop_points(
        self, connection: sqlite3.Connection, shelf: str, keys: Sequence[int | str]
    ) -> None:
        connection.executemany(
            "DELETE FROM point WHERE collection = ? AND key = ?",
            [(shelf, to_json(key)) for key in keys],
        )
