"""Rows in and out of SQLite as JSON.

Also single values, and the named numbers of the table `progress`.
"""

import sqlite3
from collections.abc import Sequence
from typing import Any

import orjson

from propagation.adapters.shared.json_text import remove_nul


def to_json(value: object) -> str:
    """Encode a value as JSON, for a parameter of a statement.

    Raises:
        InvalidInput: The value holds U+0000, at which SQLite's JSON would cut a string.
    """
    return remove_nul(orjson.dumps(value)).decode()


def read_one(connection: sqlite3.Connection, sql: str, *parameters: object) -> Any:
    """Return the first column of the first row; None without rows."""
    row = connection.execute(sql, parameters).fetchone()
    return None if row is None else row[0]


def read_many(connection: sqlite3.Connection, sql: str, *parameters: object) -> list[Any]:
    """Parse the JSON array of a query; [] if it returns nothing."""
    found = read_one(connection, sql, *parameters)
    return [] if found is None else orjson.loads(found)


def spread_fields(count: int) -> str:
    """Return the SQL that spreads a JSON array over `count` columns."""
    return ", ".join(f"value->>{place}" for place in range(count))


def put_json(
    connection: sqlite3.Connection, table: str, count: int, rows: str, verb: str = "INSERT"
) -> None:
    """Insert whole rows, given as one JSON array, in one statement.

    Args:
        table: The table, optionally with columns in brackets.
        count: How many columns a row has.
        rows: The JSON array.
        verb: The SQL before INTO.
    """
    connection.execute(
        f"{verb} INTO {table} SELECT {spread_fields(count)} FROM json_each(?)", (rows,)
    )


def put(
    connection: sqlite3.Connection,
    table: str,
    count: int,
    rows: Sequence[Sequence[object]],
    verb: str = "INSERT",
) -> None:
    """Insert rows of `count` columns in one statement; see `put_json`."""
    put_json(connection, table, count, to_json(rows), verb)


LAST_WITHDRAWAL = "taken_back"
"""Name of the progress number: sequence of the newest retraction or erasure."""


def read_fact(connection: sqlite3.Connection, name: str) -> bytes | None:
    """Return a name's bytes in `meta`; None if there are none."""
    fact: bytes | None = read_one(connection, "SELECT value FROM meta WHERE name = ?", name)
    return fact


def read_progress(connection: sqlite3.Connection, name: str) -> int:
    """Return a named number; 0 if it was never set."""
    return read_one(connection, "SELECT value FROM progress WHERE name = ?", name) or 0


def set_progress(connection: sqlite3.Connection, name: str, value: int) -> None:
    """Set a named number."""
    connection.execute("INSERT OR REPLACE INTO progress VALUES (?, ?)", (name, value))


def raise_progress(connection: sqlite3.Connection, name: str, value: int) -> None:
    """Raise a named number to `value`; a larger number stays."""
    connection.execute(
        "INSERT INTO progress VALUES (?, ?) ON CONFLICT (name) DO UPDATE"
        " SET value = max(value, excluded.value)",
        (name, value),
    )


def read_next_number(connection: sqlite3.Connection, name: str) -> int:
    """Return the next number of a named counter, from 1."""
    return int(
        read_one(
            connection,
            "INSERT INTO progress VALUES (?, 1) ON CONFLICT (name) DO UPDATE SET value = value + 1"
            " RETURNING value",
            name,
        )
    )
