"""Traces of deleted rows in the file and its log: they are there, and writing anew removes them."""

import asyncio
import multiprocessing
import os
import signal
import sqlite3
from contextlib import closing

import pytest

from propagation.adapters.sqlite.connection import connect
from propagation.adapters.sqlite.forget import wiping
from propagation.adapters.sqlite.store import SqliteStore
from propagation.model import ClientKind, StoreBusy
from tests.contract.graph_store import TurnedClock, change, text, user

GONE = "said by a client that left"
COUNT = 600


async def open_store(path):
    store = SqliteStore(path, TurnedClock())
    await store.open()
    return store


@pytest.fixture
async def store(tmp_path):
    """A store whose pages were split and whose rows were deleted."""
    store = await open_store(tmp_path / "graph.db")
    for part in range(0, COUNT, 50):
        names = [f"{number * 7_919 % COUNT}" for number in range(part, part + 50)]
        await store.upsert_clients(
            [change(ClientKind.USER, name, title=f"{GONE} {name}") for name in names]
        )
    for statement in (
        "DELETE FROM client",
        "DELETE FROM client_word",
        "UPDATE log SET refs = '[]'",
    ):
        await store.database.write(lambda connection, one=statement: connection.execute(one))
    yield store
    await store.close()


def count_traces(path):
    """Count the traces in the file and in its log."""
    log = path.with_name(path.name + "-wal")
    found = path.read_bytes() + (log.read_bytes() if log.exists() else b"")
    return found.count(GONE.encode())


async def test_nothing_is_left_in_the_file_nor_in_the_log(store):
    assert count_traces(store.database.path) > 0, "deleting alone leaves traces"
    await store.wipe()
    assert count_traces(store.database.path) == 0
    await store.upsert_clients([change(ClientKind.ITEM, "later")])
    assert count_traces(store.database.path) == 0, "pages in the writer's cache bring nothing back"
    assert await store.check() == []


async def test_numbers_of_texts_stay_when_the_file_is_written_anew(store):
    """Readers follow the texts by their row numbers, so writing anew must keep these."""
    await store.commit_texts([text(user(9), version) for version in range(1, 9)], (), 1)
    await store.database.write(
        lambda connection: connection.execute("DELETE FROM profile_version WHERE version % 2")
    )
    before = await store.get_texts_after(0, 99)
    through = await store.get_texts_through()
    await store.wipe()
    assert await store.get_texts_after(0, 99) == before
    assert await store.get_texts_through() == through


async def test_events_are_recorded_while_the_file_is_written_anew(store):
    wiping = asyncio.create_task(store.wipe())
    for number in range(20):
        await store.upsert_clients([change(ClientKind.ITEM, f"i{number}")])
    await wiping
    assert await store.count_clients(ClientKind.ITEM) == 20
    assert count_traces(store.database.path) == 0


async def test_a_reader_that_needs_the_log_puts_wiping_off(store, monkeypatch):
    monkeypatch.setattr(wiping, "LOG_TRIES", 2)
    monkeypatch.setattr(wiping, "LOG_PAUSE_SECONDS", 0.01)
    with closing(connect(store.database.path)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM meta").fetchone()
        await store.upsert_clients([change(ClientKind.ITEM, "later")])
        with pytest.raises(StoreBusy, match="night"):
            await store.wipe()
    await store.wipe()
    assert count_traces(store.database.path) == 0


async def test_the_writer_overwrites_what_it_deletes(store):
    mode = await store.database.write(
        lambda connection: connection.execute("PRAGMA secure_delete").fetchone()[0]
    )
    assert mode == 1


def _vacuum_until_killed(path):
    connection = sqlite3.connect(path, isolation_level=None)
    while True:
        connection.execute("VACUUM")


@pytest.mark.slow
async def test_a_kill_while_the_file_is_written_anew_loses_nothing(tmp_path):
    path = tmp_path / "graph.db"
    store = await open_store(path)
    names = [f"i{number}" for number in range(COUNT)]
    await store.upsert_clients(
        [change(ClientKind.ITEM, name, description="x" * 2_000) for name in names]
    )
    await store.close()
    for seconds in (0.2, 0.33, 0.47):
        process = multiprocessing.get_context("spawn").Process(
            target=_vacuum_until_killed, args=(path,)
        )
        process.start()
        await asyncio.sleep(1 + seconds)
        os.kill(process.pid, signal.SIGKILL)
        process.join()
        store = await open_store(path)
        assert await store.check() == []
        found = await store.scan_clients(ClientKind.ITEM, -1, 2 * COUNT)
        assert [client.key.id for client in found] == names
        await store.close()
