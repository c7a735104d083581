"""Kill -9 of the real service while it writes a checkpoint: the half-written one is as if it had
never been begun."""

import asyncio
import multiprocessing
import os
import signal
import sqlite3
import time
from contextlib import closing

import pytest

from propagation.workflow.learn.rebuild import rebuild_view
from propagation.workflow.settings import BankSettings, WorkflowSettings
from services.assembly import build_engine
from services.config.settings import ServerSettings, Settings
from services.config.sources import LoadedSettings
from tests.crash.service import Caller
from tests.unit.workflow.learn.comparison import find_differing_arrays

pytestmark = pytest.mark.slow

LONGEST_SECONDS = 120
UNFINISHED = (
    "SELECT count(DISTINCT c.id), count(p.part) FROM checkpoint c JOIN checkpoint_part p ON "
    "p.checkpoint = c.id"
    " WHERE NOT complete"
)


def make_settings(database):
    return Settings(
        database=database,
        server=ServerSettings(port=0),
        workflow=WorkflowSettings(
            session=BankSettings(k=4), taste=BankSettings(k=4), table_edges=2, auto_create=True
        ),
    )


def serve_with_many_checkpoints(database, pipe):
    """The service, with a checkpoint every few hundred interactions, each in many small parts."""
    from propagation.adapters.shared import checkpoint_pieces
    from propagation.workflow.learn import learner
    from services.server import serve

    learner.CHECKPOINT_EVERY, checkpoint_pieces.PIECE_BYTES = 300, 2_048
    loaded = LoadedSettings.of(make_settings(database))
    asyncio.run(serve(loaded, lambda running: pipe.send(running.address)))


def count_unfinished(database):
    """(checkpoints that are being written, their parts so far)."""
    reading = sqlite3.connect(f"file:{database}?mode=ro", uri=True, timeout=10)
    with closing(reading) as connection:
        return connection.execute(UNFINISHED).fetchone()


async def kill_amid_checkpoint(process, database):
    """Wait until one is half written, and kill: stopped first, so that it cannot be completed
    between the look and the kill."""
    until = time.monotonic() + LONGEST_SECONDS
    while time.monotonic() < until:
        checkpoints, parts = await asyncio.to_thread(count_unfinished, database)
        if checkpoints and parts >= 3:
            os.kill(process.pid, signal.SIGSTOP)
            if (await asyncio.to_thread(count_unfinished, database))[0]:
                os.kill(process.pid, signal.SIGKILL)
                await asyncio.to_thread(process.join)
                assert count_unfinished(database)[0]
                return
            os.kill(process.pid, signal.SIGCONT)
        await asyncio.sleep(0.001)
    raise AssertionError("no checkpoint was seen while it was written")


@pytest.mark.parametrize("times", [2])
async def test_a_kill_amid_a_checkpoint(tmp_path, times):
    database, caller = tmp_path / "graph.db", Caller()
    for _ in range(times):
        ours, theirs = multiprocessing.Pipe()
        process = multiprocessing.get_context("spawn").Process(
            target=serve_with_many_checkpoints, args=(database, theirs), daemon=True
        )
        process.start()
        theirs.close()  # so that a service that ends at its start ends the wait, too
        load = asyncio.create_task(caller.push(await asyncio.to_thread(ours.recv)))
        await kill_amid_checkpoint(process, database)
        assert process.exitcode == -signal.SIGKILL
        await load
    engine = build_engine(make_settings(database))
    await engine.open()
    try:
        store = engine.store
        while await engine.learn():
            pass
        rows = await store.get_interactions(range(1, await store.get_recorded_through() + 1))
        assert {row.event_id: row.sequence for row in rows}.items() >= caller.acked.items()
        assert await store.check() == []
        view = await rebuild_view(store, engine.embedder, engine.data.create_first_view())
        assert find_differing_arrays(view.state, engine.numbers.view.state) == []
    finally:
        await engine.close()
    lease_holder = build_engine(make_settings(database))
    await lease_holder.open()
    await lease_holder.rebuild()
    await lease_holder.close()
    assert count_unfinished(database) == (0, 0)
