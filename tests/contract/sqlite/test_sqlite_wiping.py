"""What SQLite leaves in pages of a large file: found, overwritten, and not brought back by
anybody's memory of a page."""

import asyncio
import os
import sqlite3
import sys
from contextlib import closing
from functools import partial
from random import Random

import pytest

from propagation.adapters.sqlite.connection import free_page_zeroing as middles
from propagation.adapters.sqlite.connection.database import Database
from propagation.adapters.sqlite.connection.free_page_zeroing import Middles
from propagation.adapters.sqlite.connection.schema import connect
from propagation.adapters.sqlite.connection.write_ahead_log import empty_log

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
    """Rows of two clients, written in an order that splits pages; one's are deleted, and the log is
    empty."""
    database = Database(tmp_path / "graph.db", NoMemory())
    database.open()
    random = Random(3)
    keys = list(range(6_000))
    random.shuffle(keys)
    await database.write(
        lambda connection: connection.execute(
            "CREATE TABLE said (id INTEGER PRIMARY KEY, text TEXT)"
        )
    )
    await database.write(
        lambda connection: connection.execute("CREATE INDEX said_text ON said (text, id)")
    )
    for start in range(0, len(keys), 500):
        rows = [
            (key, f"{GONE.decode() if key % 3 else KEPT} {key} {'.' * random.randrange(90)}")
            for key in keys[start : start + 500]
        ]
        await database.write(
            lambda connection, rows=rows: connection.executemany(
                "INSERT INTO said VALUES (?, ?)", rows
            )
        )
    await database.write(lambda connection: connection.execute("DELETE FROM said WHERE id % 3"))
    assert await database.alone(empty_log)
    yield database
    database.close()


async def looked_through(database):
    """(What looks, how many pages held something); those are overwritten."""
    looking, start, count = Middles(database.path, database.handle()), 0, 0
    assert await database.alone(looking.begin)
    while start is not None:
        pages, start = looking.found(start)
        count += len(pages)
        assert await database.alone(partial(looking.overwrite, pages))
    return looking, count


async def wiped(database):
    looking, count = await looked_through(database)
    assert await database.alone(partial(looking.overwrite, None))
    assert looking.complete
    return count


def bytes_of(database):
    """Read over the database's own descriptor: to close another takes its locks away."""
    found, beside = (
        os.pread(database.handle(), os.fstat(database.handle()).st_size, 0),
        database.path.with_name("graph.db-wal"),
    )
    return found + (beside.read_bytes() if beside.exists() else b"")


async def said_and_deleted(database, count):
    """By somebody, in an order that splits pages: copies of rows stay in their middles."""
    for start in range(0, count, 500):
        rows = [
            (100_000 + key * 7_919 % count, f"{GONE.decode()} {key * 31 % 997} {'.' * (key % 90)}")
            for key in range(start, start + 500)
        ]
        await database.write(
            lambda connection, rows=rows: connection.executemany(
                "INSERT INTO said VALUES (?, ?)", rows
            )
        )
    await database.write(
        lambda connection: connection.execute("DELETE FROM said WHERE id >= 100000")
    )


async def kept(database):
    return await database.read(
        lambda connection: connection.execute("SELECT id, text FROM said ORDER BY id").fetchall()
    )


async def test_nothing_is_left_in_pages_and_everything_else_stays(database):
    before = await kept(database)
    assert GONE in bytes_of(database), "pages of this database hold what was deleted"
    assert await wiped(database) > 0
    assert GONE not in bytes_of(database)
    assert await kept(database) == before
    assert (await looked_through(database))[1] == 0
    with closing(connect(database.path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


async def test_pages_in_the_writers_memory_do_not_bring_it_back(database):
    await database.write(
        lambda connection: connection.execute(
            "SELECT count(*), sum(length(text)) FROM said"
        ).fetchone()
    )
    await wiped(database)
    await database.write(
        lambda connection: connection.execute("UPDATE said SET text = text || '!'")
    )
    assert GONE not in bytes_of(database)
    assert await database.alone(empty_log)
    assert GONE not in bytes_of(database)


async def test_in_parts(database, monkeypatch):
    monkeypatch.setattr(middles, "LOOKED_AT_ONCE", 16 << 12)
    monkeypatch.setattr(middles, "OVERWRITTEN_AT_ONCE", 3)
    await wiped(database)
    assert GONE not in bytes_of(database)
    assert len(await kept(database)) == 2_000


async def test_what_comes_to_pages_that_were_looked_at_already_is_overwritten_too(database):
    looking, _ = await looked_through(database)
    await said_and_deleted(database, 4_000)
    assert GONE in bytes_of(database)
    assert await database.alone(partial(looking.overwrite, None))
    assert looking.complete
    assert GONE not in bytes_of(database)
    assert len(await kept(database)) == 2_000


async def test_a_log_that_was_begun_anew_meanwhile_does_not_say_what_was_written(database):
    looking, _ = await looked_through(database)
    await said_and_deleted(database, 500)
    await database.alone(
        lambda connection: connection.execute("PRAGMA wal_checkpoint(RESTART)").fetchone()
    )
    await database.write(
        lambda connection: connection.execute("INSERT INTO said VALUES (-1, 'after')")
    )
    assert await database.alone(partial(looking.overwrite, None))
    assert not looking.complete


async def test_a_reader_who_keeps_the_log_puts_it_off(database):
    with closing(connect(database.path)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM said").fetchone()
        await database.write(lambda connection: connection.execute("DELETE FROM said WHERE id = 0"))
        looking = Middles(database.path, database.handle())
        pages, _ = looking.found(0)
        assert not await database.alone(partial(looking.overwrite, pages))
        reader.execute("ROLLBACK")
    await wiped(database)
    assert GONE not in bytes_of(database)


async def test_another_process_that_opens_and_closes_it_afterwards_leaves_the_log_alone(database):
    await wiped(database)
    await database.write(
        lambda connection: connection.execute("INSERT INTO said VALUES (-1, 'after')")
    )
    log = database.path.with_name("graph.db-wal")
    before = os.stat(log).st_ino
    other = await asyncio.create_subprocess_exec(
        sys.executable, "-c", OPENED_AND_CLOSED, str(database.path)
    )
    assert await other.wait() == 0
    assert os.stat(log).st_ino == before
    await database.write(
        lambda connection: connection.execute("INSERT INTO said VALUES (-2, 'later')")
    )
    with closing(sqlite3.connect(database.path)) as connection:
        assert connection.execute("SELECT text FROM said WHERE id < 0 ORDER BY id").fetchall() == [
            ("later",),
            ("after",),
        ]
