"""What a command opens is closed, also if opening fails."""

import pytest

from services.cli.access import with_store
from services.config.settings import Settings


def test_a_store_that_cannot_be_opened_is_closed(tmp_path, monkeypatch):
    database = tmp_path / "graph.db"
    database.write_bytes(b"no database at all" * 100)
    settings = Settings(database=database)
    closed = []
    from propagation.adapters.sqlite.store import SqliteStore

    close = SqliteStore.close

    async def note(store):
        closed.append(store)
        await close(store)

    monkeypatch.setattr(SqliteStore, "close", note)

    async def look(_):
        raise AssertionError("it does not open")

    with pytest.raises(Exception, match="database"):
        with_store(settings, look)
    assert len(closed) == 1
