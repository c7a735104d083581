"""JSON in and out of SQLite."""

import sqlite3
from typing import Any

import orjson


def dumped(value: object) -> str:
    return orjson.dumps(value).decode()


def one(connection: sqlite3.Connection, sql: str, *parameters: object) -> Any:
    """The first column of the first row; None without rows."""
    row = connection.execute(sql, parameters).fetchone()
    return None if row is None else row[0]


def many(connection: sqlite3.Connection, sql: str, *parameters: object) -> list[Any]:
    """A query that returns one JSON array, parsed."""
    found = one(connection, sql, *parameters)
    return [] if found is None else orjson.loads(found)
