"""SIGTERM and Ctrl-C end a command within two seconds, and nothing of it stays: no child, no
temporary file."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from services.cli.exits import ExitCode
from services.runtime.interruption import FORCED_SECONDS
from tests.crash.service import SETTINGS, Caller, ServiceProcess
from tests.waiting import block_until

pytestmark = [pytest.mark.slow, pytest.mark.alone]

LIMIT_SECONDS, BEGUN_SECONDS = 2.0, 120.0
# CPython ends itself by SIGINT if that came while it ran a string; a shell shows 130 for both.
INTERRUPTED = (ExitCode.INTERRUPTED, -signal.SIGINT)
PROGRAM = (sys.executable, "-m", "services.cli.main")
FIRST_LINE = """
import os, signal
from services.cli import main

set_handler = signal.signal
def say_first(*arguments):
    set_handler(*arguments)
    if arguments[0] == signal.SIGINT:
        signal.signal = set_handler
        os.write(1, b"\\n")
signal.signal = say_first
main.run()
"""


def start_program(folder, *arguments, **environment):
    temporary = folder / "temporary"
    temporary.mkdir(exist_ok=True)
    return subprocess.Popen(
        [*PROGRAM, *map(str, arguments)],
        cwd=folder,
        env=os.environ | {"TMPDIR": str(temporary)} | environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def end_program(process, number):
    """Return the exit code; fail if the end takes too long."""
    began = time.monotonic()
    process.send_signal(number)
    process.communicate(timeout=60)
    assert time.monotonic() - began < LIMIT_SECONDS
    return process.returncode


def find_processes(folder):
    """Return the ids of processes whose environment names this folder."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if os.fsencode(folder) in (process / "environ").read_bytes():
                found.append(int(process.name))
    return found


@pytest.mark.parametrize("command", [("status",), ("serve", "--port", "0"), ("--version",)])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_while_the_command_line_is_loaded_ends_it_without_a_stack_trace(
    tmp_path, command, number
):
    """The process says first that Python has come to our first line."""
    for turn in range(15):
        early = subprocess.Popen(
            [sys.executable, "-c", FIRST_LINE, *command],
            cwd=tmp_path,
            env=os.environ | {"PYTHONPATH": os.getcwd()},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert early.stdout.readline() == "\n"
        time.sleep(0.02 * turn)
        early.send_signal(number)
        _, errors = early.communicate(timeout=60)
        assert "Traceback" not in errors
        assert early.returncode in (
            *INTERRUPTED,
            *(ExitCode.DONE, ExitCode.UNREACHABLE),  # the command's own, when it was done already
        )


@pytest.mark.parametrize("after", [0.5, 2.0, 4.0, 7.0])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_demo(tmp_path, number, after):
    demo = start_program(tmp_path, "demo")
    block_until(lambda: list((tmp_path / "temporary").glob("propagation-demo-*")), BEGUN_SECONDS)
    time.sleep(after)
    assert end_program(demo, number) in INTERRUPTED
    block_until(lambda: not find_processes(tmp_path), LIMIT_SECONDS)
    assert list((tmp_path / "temporary").iterdir()) == []


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_demo_page(tmp_path, number):
    """That is how it ends when all went well, so the exit code is 0."""
    (tmp_path / "events.jsonl").write_text('{"user_id":"u0","item_id":"i0"}\n')
    demo = start_program(tmp_path, "demo", "--data", tmp_path, PYTHONUNBUFFERED="1")
    assert any(line.startswith("Open http") for line in demo.stdout)
    assert end_program(demo, number) == 0
    block_until(lambda: not find_processes(tmp_path), LIMIT_SECONDS)
    assert list((tmp_path / "temporary").iterdir()) == []


def test_demo_killed_leaves_no_process(tmp_path):
    demo = start_program(tmp_path, "demo")
    block_until(lambda: len(find_processes(tmp_path)) >= 2, BEGUN_SECONDS)
    demo.kill()
    demo.communicate(timeout=60)
    block_until(lambda: not find_processes(tmp_path), LIMIT_SECONDS)


@pytest.mark.parametrize("options", [("--vary", "buffer=1,4"), ("--seeds", "9"), ()])
def test_evaluate(tmp_path, options, ratings):
    evaluate = start_program(tmp_path, "evaluate", ratings, *options)
    time.sleep(6)
    assert evaluate.poll() is None, evaluate.communicate()
    assert end_program(evaluate, signal.SIGTERM) in INTERRUPTED
    assert list((tmp_path / "temporary").iterdir()) == []


@pytest.fixture
def ratings(tmp_path):
    """Many events in RecBole's atomic files."""
    folder = tmp_path / "many"
    folder.mkdir()
    rows = (f"u{n % 3_001}\ti{n * n % 1_511}\t{n}" for n in range(300_000))
    header = "user_id:token\titem_id:token\ttimestamp:float"
    (folder / "many.inter").write_text("\n".join([header, *rows]) + "\n")
    return folder


def test_a_service_whose_kernel_cache_is_partly_filled_stops_while_it_starts(tmp_path):
    cache = tmp_path / "kernels"
    environment = {"NUMBA_CACHE_DIR": str(cache)}
    filling = start_program(tmp_path, "serve", "--port", "0", **environment)
    block_until(lambda: list(cache.rglob("*.nbi")), BEGUN_SECONDS)
    assert end_program(filling, signal.SIGTERM) == 0
    again = start_program(tmp_path, "serve", "--port", "0", **environment)
    time.sleep(5)
    assert again.poll() is None
    assert end_program(again, signal.SIGTERM) == 0
    assert find_processes(cache) == []


def test_the_compiling_child_ends_with_a_killed_service(tmp_path):
    cache = tmp_path / "kernels"
    service = start_program(tmp_path, "serve", "--port", "0", NUMBA_CACHE_DIR=str(cache))
    block_until(lambda: list(cache.rglob("*.nbi")), BEGUN_SECONDS)
    service.kill()
    service.communicate(timeout=60)
    block_until(lambda: not find_processes(cache), LIMIT_SECONDS)


@pytest.mark.parametrize("command", ["backup", "export", "restore", "compact", "doctor", "init"])
def test_commands_on_a_file(tmp_path, command, ratings):
    options = ["--database", tmp_path / "graph.db"]
    options += [part for setting in SETTINGS for part in ("--set", setting)]
    wait_for_success(start_program(tmp_path, "replay", ratings, "--first", "2000", *options))
    if command == "restore":
        wait_for_success(start_program(tmp_path, "backup", "copy.db", *options))
    given = {"backup": ["out.db"], "export": ["out.jsonl"], "restore": ["copy.db"]}
    for after in (0.4, 0.7, 1.0, 1.6):
        force = ["--force"] if command in given else []
        running = start_program(tmp_path, command, *given.get(command, []), *force, *options)
        time.sleep(after)
        # -SIGTERM: it came while Python still loaded the command line
        assert end_program(running, signal.SIGTERM) in (
            ExitCode.DONE,
            *INTERRUPTED,
            -signal.SIGTERM,
        )
        assert not list(tmp_path.glob("*.partial*"))
        assert list((tmp_path / "temporary").iterdir()) == []
    wait_for_success(start_program(tmp_path, "doctor", *options))


def wait_for_success(process):
    """Wait for the end of a command, which must be good."""
    output, errors = process.communicate(timeout=250)
    assert process.returncode == 0, output + errors


def test_a_background_job_whose_ctrl_c_is_ignored_unwinds_at_sigterm(tmp_path):
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        model = start_program(tmp_path, "fake-llm", "--port", "0")
    finally:
        signal.signal(signal.SIGINT, before)
    assert model.stdout.readline().startswith("listening on ")
    began = time.monotonic()
    assert end_program(model, signal.SIGTERM) in INTERRUPTED
    assert time.monotonic() - began < FORCED_SECONDS


def test_fake_llm(tmp_path):
    model = start_program(tmp_path, "fake-llm", "--port", "0")
    assert model.stdout.readline().startswith("listening on ")
    assert end_program(model, signal.SIGTERM) in INTERRUPTED


async def test_watch(tmp_path):
    service = ServiceProcess(tmp_path / "graph.db")
    address = await service.start()
    try:
        watch = start_program(tmp_path, "watch", "--address", address)
        await asyncio.sleep(2)
        assert end_program(watch, signal.SIGTERM) in INTERRUPTED
    finally:
        await service.end(signal.SIGKILL)


async def test_the_drafting_child_ends_with_a_killed_service(tmp_path):
    service, caller = ServiceProcess(tmp_path / "graph.db"), Caller()
    load = asyncio.create_task(caller.push(await service.start()))
    children = []
    while not children:
        await asyncio.sleep(0.05)
        children = find_processes_of_module("services.reasoning.child_process", tmp_path)
    await asyncio.sleep(1)  # it drafts
    await service.end(signal.SIGKILL)
    await load
    await asyncio.sleep(LIMIT_SECONDS)
    assert not set(children) & set(
        find_processes_of_module("services.reasoning.child_process", tmp_path)
    )


def find_processes_of_module(module, folder):
    """Return the ids of processes that run a module and have a file of this folder open."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if module.encode() in (process / "cmdline").read_bytes() and any(
                folder in file.resolve().parents for file in (process / "fd").iterdir()
            ):
                found.append(int(process.name))
    return found
