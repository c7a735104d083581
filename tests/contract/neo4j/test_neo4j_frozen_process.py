"""A frozen process keeps its locks for as long as a transaction may take, and no longer."""

import asyncio
import contextlib
import os
import signal
import sys
import time

import pytest

from propagation.adapters.neo4j.store import Neo4jStore
from tests.neo4j_server.shared import get_server

ANSWER_SECONDS = 4.0
WRITER = """
import asyncio
from propagation.adapters.neo4j.settings import Neo4jSettings
from propagation.adapters.neo4j.store import Neo4jStore

async def write():
    store = Neo4jStore(Neo4jSettings.model_validate_json({settings!r}))
    await store.open()

    async def work(transaction):
        await transaction.execute("record/log/wait_for_log")
        await transaction.execute("connection/store_fact", name="late", value=b"stored")
        print("holds the log", flush=True)
        await asyncio.sleep(60)

    await store.database.write(work)

asyncio.run(write())
"""


@contextlib.asynccontextmanager
async def run_frozen_writer(settings):
    """A process that is stopped while its transaction holds the log."""
    password = settings.password.get_secret_value()
    fields = settings.model_dump_json().replace("*" * 10, password)
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        WRITER.format(settings=fields),
        stdout=asyncio.subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.getcwd()},
    )
    try:
        assert await process.stdout.readline() == b"holds the log\n"
        process.send_signal(signal.SIGSTOP)
        yield
    finally:
        process.kill()
        await process.wait()


@pytest.mark.neo4j
async def test_the_server_ends_the_transaction_of_a_frozen_process(tmp_path):
    settings = get_server(tmp_path).settings
    store = Neo4jStore(settings)
    await store.open()
    try:
        async with run_frozen_writer(
            settings.model_copy(update={"answer_seconds": ANSWER_SECONDS})
        ):
            begun = time.monotonic()
            await store.database.write(lambda one: one.execute("record/log/wait_for_log"))
            waited = time.monotonic() - begun
        assert waited > 0.5, "the frozen process did not hold the lock"
        assert waited < 5 * ANSWER_SECONDS, "the lock was not released in time"
        assert await store.get_blob("late") is None, "a part of the transaction was stored"
    finally:
        await store.close()
