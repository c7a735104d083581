"""JSON in and out of SQLite."""

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from propagation.adapters.shared.json_text import without_nul


def dumped(value: object) -> str:
    """Return JSON for one statement.

    Raises:
        InvalidInput: It holds U+0000, at which SQLite's JSON would cut a string.
    """
    return without_nul(orjson.dumps(value)).decode()


def one(connection: sqlite3.Connection, sql: str, *parameters: object) -> Any:
    """Return the first column of the first row; None without rows."""
    row = connection.execute(sql, parameters).fetchone()
    return None if row is None else row[0]


def many(connection: sqlite3.Connection, sql: str, *parameters: object) -> list[Any]:
    """Return the parsed JSON array of a query."""
    found = one(connection, sql, *parameters)
    return [] if found is None else orjson.loads(found)


def fields(count: int) -> str:
    """Return the SQL that spreads a JSON array over `count` columns."""
    return ", ".join(f"value->>{place}" for place in range(count))


@dataclass(frozen=True)
class Rows:
    """Rows, each a JSON array, as one JSON array."""

    count: int
    json: str


def rows_of(rows: Sequence[Sequence[object]]) -> Rows:
    """Return rows as JSON.

    Raises:
        InvalidInput: One holds U+0000.
    """
    return Rows(len(rows), dumped(rows))


def put_rows(
    connection: sqlite3.Connection, table: str, count: int, rows: Rows, verb: str = "INSERT"
) -> None:
    """Insert whole rows of `count` columns in one statement."""
    if rows.count:
        connection.execute(
            f"{verb} INTO {table} SELECT {fields(count)} FROM json_each(?)", (rows.json,)
        )


def put(
    connection: sqlite3.Connection,
    table: str,
    count: int,
    rows: Sequence[Sequence[object]],
    verb: str = "INSERT",
) -> None:
    """Insert rows that are not JSON yet."""
    if rows:
        put_rows(connection, table, count, rows_of(rows), verb)


def counted(connection: sqlite3.Connection, name: str) -> int:
    """Return the next number of a named counter; none is given twice."""
    return int(
        one(
            connection,
            "INSERT INTO progress VALUES (?, 1) ON CONFLICT (name) DO UPDATE SET value = value + 1"
            " RETURNING value",
            name,
        )
    )
