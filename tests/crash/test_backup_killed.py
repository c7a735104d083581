"""Kill -9 inside of back-up, restore, export, import and compaction: no half file has the final
name, and nothing is lost."""

import asyncio
import multiprocessing
import os
import signal
import threading
import time

import pytest

from propagation.adapters.sqlite.maintenance.commands import SqliteFiles
from propagation.adapters.sqlite.store import SqliteStore
from propagation.model import ClientKind
from services.runtime.process import SystemClock
from tests.contract.graph_store import change, learn_all, record_pairs

pytestmark = pytest.mark.slow

ITEMS = 12_000


def make_database(path):
    """A database of some 20 MB."""

    async def fill():
        store = SqliteStore(path, SystemClock())
        await store.open()
        await store.upsert_clients(
            [change(ClientKind.ITEM, f"i{n}", description="word " * 250) for n in range(ITEMS)]
        )
        await record_pairs(store, *((f"u{n}", f"i{n}") for n in range(500)))
        await learn_all(store)
        await store.close()

    asyncio.run(fill())


def check_database(path):
    """(what is wrong with it, how far it goes)."""

    async def look():
        store = SqliteStore(path, SystemClock())
        await store.open()
        try:
            return await store.check(), await store.get_recorded_through()
        finally:
            await store.close()

    return asyncio.run(look())


def run_and_die(work, folder, after):
    """In a process of its own: killed at the `after`-th word of progress, or so many milliseconds
    into what says nothing."""
    words = 0

    def progress(done, total):
        nonlocal words
        words += 1
        if words >= after:
            os.kill(os.getpid(), signal.SIGKILL)

    def kill_later():
        time.sleep(after / 1_000)
        os.kill(os.getpid(), signal.SIGKILL)

    files = SqliteFiles(folder / "graph.db")
    if work == "compact":
        threading.Thread(target=kill_later).start()
        files.compact()
        time.sleep(60)
    elif work in ("backup", "export"):
        getattr(files, work)(folder / "out", progress)
    else:
        files.restore(folder / work, progress, replace=True)


def run_until_killed(work, folder, after):
    process = multiprocessing.get_context("spawn").Process(
        target=run_and_die, args=(work, folder, after)
    )
    process.start()
    process.join(60)
    assert process.exitcode == -signal.SIGKILL


def test_kill_9_inside_of_each_of_them(tmp_path):
    path = tmp_path / "graph.db"
    make_database(path)
    files = SqliteFiles(path)
    files.backup(tmp_path / "copy", lambda done, total: None)
    files.export(tmp_path / "lines", lambda done, total: None)
    whole = check_database(path)
    assert whole[0] == []
    for work in ("backup", "export"):
        for after in (1, 2):
            run_until_killed(work, tmp_path, after)
            assert not (tmp_path / "out").exists()
            assert check_database(path) == whole
        getattr(files, work)(
            tmp_path / "out", lambda done, total: None
        )  # what was left does not stand in the way
        assert not (tmp_path / "out.partial").exists()
        (tmp_path / "out").unlink()
    for work, moments in (("copy", (1, 2)), ("lines", (1, 4)), ("compact", (1, 20, 60, 120, 250))):
        for after in moments:
            run_until_killed(work, tmp_path, after)
            assert check_database(path) == whole
    files.restore(tmp_path / "lines", lambda done, total: None, replace=True)
    assert check_database(path) == whole
