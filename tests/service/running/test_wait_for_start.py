"""Commands wait for a service that says that it is starting; import also until one listens."""

import asyncio
import fcntl
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from services.fake_llm.server import fake_llm
from services.server import run_service
from tests.ports import find_free_port
from tests.service.running.test_embedder_away import learn_catalogue, make_settings

COMMAND = [sys.executable, "-m", "services.cli.main"]
LIMIT_SECONDS = 60


@pytest.fixture
def folder(tmp_path):
    """A dataset of one event."""
    folder = tmp_path / "one"
    folder.mkdir()
    (folder / "clients.jsonl").write_text('{"kind": "item", "id": "i1", "title": "Record"}\n')
    (folder / "events.jsonl").write_text('{"event_id": "e", "user_id": "u", "item_id": "i1"}\n')
    return folder


async def run_command(*arguments):
    """A command in a process of its own: its exit code, and what it said on stderr."""
    done = await asyncio.to_thread(
        subprocess.run,
        [*COMMAND, *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=LIMIT_SECONDS,
    )
    return done.returncode, done.stderr


@pytest.fixture
async def starting_service(tmp_path):
    """A service that waits for its embedder: its address, and the embedder's port."""
    port, own_port = find_free_port(), find_free_port()
    await learn_catalogue(tmp_path, port)

    async def serve():
        async with run_service(make_settings(tmp_path, port, own_port)):
            await asyncio.Event().wait()

    service = asyncio.create_task(serve())
    yield f"127.0.0.1:{own_port}", port
    service.cancel()
    await asyncio.gather(service, return_exceptions=True)


@pytest.mark.slow
async def test_import_waits_while_the_service_says_that_it_is_starting(starting_service, folder):
    address, port = starting_service
    importing = asyncio.create_task(run_command("import", folder, "--address", address))
    await asyncio.sleep(4)
    assert not importing.done(), "a client that sends each call once would have failed"
    async with fake_llm(port=port):
        code, said = await importing
    assert code == 0, said
    assert said.count("waiting: ") == said.count("embedder") == 1


@pytest.mark.slow
async def test_the_wait_has_a_limit_and_status_has_none(starting_service, folder):
    address, _ = starting_service
    began = time.monotonic()
    code, said = await run_command("import", folder, "--address", address, "--wait", "1")
    assert (code, said.count("waiting: ")) == (6, 1), said
    assert time.monotonic() - began < 10
    code, said = await run_command("status", "--address", address)
    assert (code, said.count("waiting: ")) == (6, 0), said


async def test_a_refusal_for_another_reason_ends_a_command_at_once(start_service, folder):
    async with start_service(roles=["read"]) as service:
        code, said = await run_command("import", folder, "--address", service.address)
    assert code == 6, said
    assert "waiting" not in said


@pytest.mark.slow
async def test_import_waits_for_a_service_that_does_not_listen_yet(tmp_path, folder):
    port, own_port = find_free_port(), find_free_port()
    await learn_catalogue(tmp_path, port)
    importing = asyncio.create_task(
        run_command("import", folder, "--address", f"127.0.0.1:{own_port}")
    )
    await asyncio.sleep(6)
    assert not importing.done()
    async with fake_llm(port=port), run_service(make_settings(tmp_path, port, own_port)):
        code, said = await importing
    assert code == 0, said
    assert said.count("started just now") == 1


async def test_without_a_service_import_says_so(folder):
    address = f"127.0.0.1:{find_free_port()}"
    code, said = await run_command("import", folder, "--address", address, "--wait", "0")
    assert (code, said.count("waiting: ")) == (4, 0), said
    code, said = await run_command("import", folder, "--address", address, "--wait", "2")
    assert (code, said.count("waiting: ")) == (4, 1), said
    assert "start one with `propagation serve`" in said


@pytest.mark.slow
def test_import_waits_for_a_service_whose_kernels_another_process_compiles(tmp_path, folder):
    """The other process is this one, which only holds the lock."""
    kept = Path(os.environ["NUMBA_CACHE_DIR"])
    cache = tmp_path / "kernels" / kept.name
    shutil.copytree(
        kept, cache, ignore=shutil.ignore_patterns("*.complete"), copy_function=os.symlink
    )
    port = find_free_port()
    environment = os.environ | {"NUMBA_CACHE_DIR": str(cache.parent)}
    lock = os.open(cache, os.O_RDONLY)
    fcntl.flock(lock, fcntl.LOCK_EX)
    serve = ["serve", "--port", str(port), "--auto-create", "--database", tmp_path / "graph.db"]
    with (tmp_path / "log").open("w") as log:
        service = subprocess.Popen(
            [*COMMAND, *map(str, serve)], env=environment, stdout=subprocess.PIPE, stderr=log
        )
    try:
        while "waiting for another process" not in (tmp_path / "log").read_text():
            assert service.poll() is None
            time.sleep(0.1)
        importing = subprocess.Popen(
            [*COMMAND, "import", str(folder), "--address", f"127.0.0.1:{port}"],
            stderr=subprocess.PIPE,
            text=True,
        )
        time.sleep(4)
        assert importing.poll() is None
        os.close(lock)
        _, said = importing.communicate(timeout=3 * LIMIT_SECONDS)
        assert importing.returncode == 0, said
        assert "waiting: the service is starting" in said
    finally:
        service.terminate()
        service.communicate(timeout=LIMIT_SECONDS)
