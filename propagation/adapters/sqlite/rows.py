"""JSON in and out of SQLite."""

import sqlite3
from collections.abc import Sequence
from typing import Any

import orjson

from propagation.adapters.strings import without_nul


def dumped(value: object) -> str:
    """JSON for one statement. Raises InvalidInput on U+0000, which SQLite's JSON would cut a string at."""
    return without_nul(orjson.dumps(value)).decode()


def one(connection: sqlite3.Connection, sql: str, *parameters: object) -> Any:
    """The first column of the first row; None without rows."""
    row = connection.execute(sql, parameters).fetchone()
    return None if row is None else row[0]


def many(connection: sqlite3.Connection, sql: str, *parameters: object) -> list[Any]:
    """A query that returns one JSON array, parsed."""
    found = one(connection, sql, *parameters)
    return [] if found is None else orjson.loads(found)


def fields(count: int) -> str:
    """The SQL that spreads one JSON array of a row over `count` columns."""
    return ", ".join(f"value->>{place}" for place in range(count))


def put(connection: sqlite3.Connection, table: str, count: int, rows: Sequence[Sequence[object]], verb: str = "INSERT") -> None:
    """Whole rows of `count` columns, in one statement."""
    if rows:
        connection.execute(f"{verb} INTO {table} SELECT {fields(count)} FROM json_each(?)", (dumped(rows),))


def counted(connection: sqlite3.Connection, name: str) -> int:
    """The next number of a named counter, never given twice."""
    return int(one(connection, "INSERT INTO progress VALUES (?, 1) ON CONFLICT (name) DO UPDATE SET value = value + 1"
                               " RETURNING value", name))
