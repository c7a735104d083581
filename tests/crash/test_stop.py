"""SIGTERM under load: a graceful stop loses no acknowledged event, and nothing is left to be done
twice. Before there is any: it stops."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from propagation.workflow.settings import BankSettings, WorkflowSettings
from services.assembly import build_engine
from services.config.settings import Settings
from tests.crash.service import Caller, ServiceProcess
from tests.waiting import block_until

pytestmark = [pytest.mark.slow, pytest.mark.alone]


async def test_sigterm_under_load_loses_no_acked_event(tmp_path):
    database, caller = tmp_path / "graph.db", Caller()
    for seconds in (0.3, 1.2):
        service = ServiceProcess(database)
        load = asyncio.create_task(caller.push(await service.start()))
        await asyncio.sleep(seconds)
        assert await service.end(signal.SIGTERM) == 0
        await load
    assert len(caller.acked) > 100
    engine = build_engine(
        Settings(
            database=database,
            workflow=WorkflowSettings(
                session=BankSettings(k=4), taste=BankSettings(k=4), table_edges=2
            ),
        )
    )
    await engine.open()
    try:
        rows = await engine.store.get_interactions(
            range(1, await engine.store.get_recorded_through() + 1)
        )
        stored = {row.event_id: row.sequence for row in rows}
        assert {id_: stored.get(id_) for id_ in caller.acked} == caller.acked
        assert await engine.store.check() == []
    finally:
        await engine.close()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_service_that_compiles_its_kernels_stops_when_it_is_told_to(tmp_path, number):
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "kernels")}
    service = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "services.cli.main",
            "serve",
            "--port",
            "0",
            "--database",
            str(tmp_path / "graph.db"),
        ],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert service.stderr is not None
    assert any("compiling kernels" in line for line in service.stderr)
    compiling = _find_compilers(tmp_path)
    while not compiling:  # it has not begun
        compiling = _find_compilers(tmp_path)
    service.send_signal(number)
    service.communicate(timeout=20)
    assert service.returncode == 0
    block_until(lambda: not _find_compilers(tmp_path), 2.0)


def _find_compilers(folder):
    """Processes that compile into this folder: kernel_cache and the kernel_compilers."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if (
                b"services.runtime.kernel_c" in (process / "cmdline").read_bytes()
                and os.fsencode(folder) in (process / "environ").read_bytes()
            ):
                found.append(int(process.name))
    return found


DRAIN_SECONDS = 2.0
STUCK = """
import asyncio
import sys
from services.cli.main import run
from services.worker.worker import Worker

async def stop(_):
    await asyncio.sleep(600)

Worker.stop = stop
sys.argv = ["propagation", "serve", "--port", "0", "--database", sys.argv[1], *sys.argv[2:]]
run()
"""


def test_a_drain_that_does_not_end_is_cut_off(tmp_path):
    """A step that waits for something that never comes."""
    service = subprocess.Popen(
        [
            *(sys.executable, "-c", STUCK, str(tmp_path / "graph.db")),
            *("--set", f"server.drain_seconds={DRAIN_SECONDS}", "--set", "server.grace_seconds=1"),
        ],
        env=os.environ | {"PYTHONPATH": os.getcwd()},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert service.stdout.readline().startswith("listening on")
        time.sleep(1)  # whatever the service does once it is ready is done
        service.terminate()
        _, log = service.communicate(timeout=DRAIN_SECONDS + 10)
    finally:
        service.kill()
        service.wait()
    assert service.returncode == 1
    assert "cut off" in log
