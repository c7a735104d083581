"""Statements belong to the writer's thread: what a write returns must not reset one from another
thread."""

import sqlite3

import pytest

from propagation.adapters.sqlite.store import SqliteStore
from services.runtime.process import SystemClock


async def test_a_cursor_leaves_the_writer_closed(tmp_path):
    store = SqliteStore(tmp_path / "graph.db", SystemClock())
    await store.open()
    cursor = await store.database.write(lambda connection: connection.execute("SELECT 1"))
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        cursor.fetchone()
    await store.close()
