"""What SQLite leaves in pages of a large file: found, overwritten, and not brought back by anybody's memory of a page."""

import asyncio
import os
import sqlite3
import sys
from contextlib import closing
from functools import partial
from random import Random

import pytest

from propagation.adapters.sqlite import wiping
from propagation.adapters.sqlite.database import Database
from propagation.adapters.sqlite.file import connect

GONE, KEPT = b"said by somebody who left", "said by somebody who stayed"
OPENED_AND_CLOSED = "import sqlite3, sys; c = sqlite3.connect(sys.argv[1]); c.execute('SELECT * FROM said').fetchone(); c.close()"


class NoMemory:
    def mark(self):
        return ()

    def undo(self, mark):
        pass

    def keep(self):
        pass


@pytest.fixture
async def database(tmp_path):
    """Rows of two clients, written in an order that splits pages; one's are deleted, and the log is empty."""
    database = Database(tmp_path / "graph.db", NoMemory())
    database.open()
    random = Random(3)
    keys = list(range(6_000))
    random.shuffle(keys)
    await database.write(lambda connection: connection.execute("CREATE TABLE said (id INTEGER PRIMARY KEY, text TEXT)"))
    await database.write(lambda connection: connection.execute("CREATE INDEX said_text ON said (text, id)"))
    for start in range(0, len(keys), 500):
        rows = [(key, f"{GONE.decode() if key % 3 else KEPT} {key} {'.' * random.randrange(90)}")
                for key in keys[start : start + 500]]
        await database.write(lambda connection, rows=rows: connection.executemany("INSERT INTO said VALUES (?, ?)", rows))
    await database.write(lambda connection: connection.execute("DELETE FROM said WHERE id % 3"))
    assert await database.alone(wiping.empty_log)
    yield database
    database.close()


async def wiped(database):
    """How many pages held something."""
    handle, start, count = database.handle(), 0, 0
    while start is not None:
        pages, start = wiping.remains(handle, start)
        count += len(pages)
        assert await database.alone(partial(wiping.overwrite, database.path, handle, pages))
    return count


def bytes_of(database):
    beside = database.path.with_name("graph.db-wal")
    return database.path.read_bytes() + (beside.read_bytes() if beside.exists() else b"")


async def kept(database):
    return await database.read(lambda connection: connection.execute("SELECT id, text FROM said ORDER BY id").fetchall())


async def test_nothing_is_left_in_pages_and_everything_else_stays(database):
    before = await kept(database)
    assert GONE in bytes_of(database), "pages of this database hold what was deleted"
    assert await wiped(database) > 0
    assert GONE not in bytes_of(database)
    assert await kept(database) == before
    assert wiping.remains(database.handle(), 0) == ([], None)
    with closing(connect(database.path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


async def test_pages_in_the_writers_memory_do_not_bring_it_back(database):
    await database.write(lambda connection: connection.execute("SELECT count(*), sum(length(text)) FROM said").fetchone())
    await wiped(database)
    await database.write(lambda connection: connection.execute("UPDATE said SET text = text || '!'"))
    assert GONE not in bytes_of(database)
    assert await database.alone(wiping.empty_log)
    assert GONE not in bytes_of(database)


async def test_in_parts(database, monkeypatch):
    monkeypatch.setattr(wiping, "LOOKED_AT_ONCE", 16 << 12)
    monkeypatch.setattr(wiping, "OVERWRITTEN_AT_ONCE", 3)
    await wiped(database)
    assert GONE not in bytes_of(database)
    assert len(await kept(database)) == 2_000


async def test_a_reader_who_keeps_the_log_puts_it_off(database):
    with closing(connect(database.path)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM said").fetchone()
        await database.write(lambda connection: connection.execute("DELETE FROM said WHERE id = 0"))
        pages, _ = wiping.remains(database.handle(), 0)
        assert not await database.alone(partial(wiping.overwrite, database.path, database.handle(), pages))
        reader.execute("ROLLBACK")
    await wiped(database)
    assert GONE not in bytes_of(database)


async def test_another_process_that_opens_and_closes_it_afterwards_leaves_the_log_alone(database):
    await wiped(database)
    await database.write(lambda connection: connection.execute("INSERT INTO said VALUES (-1, 'after')"))
    log = database.path.with_name("graph.db-wal")
    before = os.stat(log).st_ino
    other = await asyncio.create_subprocess_exec(sys.executable, "-c", OPENED_AND_CLOSED, str(database.path))
    assert await other.wait() == 0
    assert os.stat(log).st_ino == before
    await database.write(lambda connection: connection.execute("INSERT INTO said VALUES (-2, 'later')"))
    with closing(sqlite3.connect(database.path)) as connection:
        assert connection.execute("SELECT text FROM said WHERE id < 0 ORDER BY id").fetchall() == [("later",), ("after",)]
