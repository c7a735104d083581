"""The demo as a person starts it: a process, its output, and nothing left behind."""

import asyncio
import os
import signal
import sys
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace

import httpx2
import pytest

from services.client.errors import Refused
from services.config.sources import SettingsError
from services.demo import run
from services.demo.data import DemoScript, build_town_script

ROOT = Path(__file__).parents[3]


async def run_demo(folder: Path, *arguments: str) -> asyncio.subprocess.Process:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(folder)}
    return await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "services.cli.main",
        "demo",
        *arguments,
        cwd=folder,
        env=environment,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )


def list_leftovers(folder: Path) -> list[str]:
    return [path.name for path in folder.glob("propagation-*")]


async def test_a_broken_line_is_one_line_and_nothing_starts(tmp_path):
    (tmp_path / "x.inter").write_text("user_id:token\titem_id:token\nu\n")
    process = await run_demo(tmp_path, "--data", str(tmp_path))
    _, errors = await process.communicate()
    assert process.returncode == 3
    [refusal] = errors.decode().splitlines()
    assert refusal.startswith("propagation: x.inter, line 2, item_id: is missing")
    assert not list_leftovers(tmp_path)


@pytest.mark.slow
async def test_one_event_is_too_little_to_show_and_no_fault(tmp_path):
    (tmp_path / "events.jsonl").write_text('{"user_id":"u0","item_id":"i0"}\n')
    process = await run_demo(tmp_path, "--once", "--data", str(tmp_path))
    out, errors = await process.communicate()
    assert process.returncode == 0, errors.decode()
    assert "too little to show" in out.decode()
    assert "skipping fork() handlers" not in errors.decode()


@pytest.mark.slow
async def test_ctrl_c_leaves_nothing_running(tmp_path):
    process = await run_demo(tmp_path)
    assert process.stdout is not None
    async for line in process.stdout:
        if b"The demo runs its own service at" in line:
            break
    address = line.split(b" at ")[1].split(b",")[0].decode()
    process.send_signal(signal.SIGINT)
    await process.communicate()
    assert process.returncode == 130
    assert not list_leftovers(tmp_path)
    host, port = address.split(":")
    with pytest.raises(OSError, match=r"refused|Connect"):
        await asyncio.open_connection(host, int(port))


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
async def test_the_page_stays_until_a_signal(tmp_path, number):
    (tmp_path / "events.jsonl").write_text('{"user_id":"u0","item_id":"i0"}\n')
    process = await run_demo(tmp_path, "--data", str(tmp_path))
    assert process.stdout is not None
    async for line in process.stdout:
        if line.startswith(b"Open http"):
            break
    address = line.split()[1].decode()
    async with httpx2.AsyncClient(base_url=address, trust_env=False, timeout=20) as http:
        shown = await http.get("/")
        assert shown.status_code == 200
        assert "<dt>users</dt><dd>1</dd>" in shown.text
        async with http.stream("GET", "/live?view=now") as live:
            assert live.status_code == 200
            process.send_signal(number)
            rest, errors = await process.communicate()
    assert process.returncode == 0, errors.decode()
    assert b"Traceback" not in rest + errors
    assert not list_leftovers(tmp_path)
    host, port = address.removeprefix("http://").split(":")
    with pytest.raises(OSError, match=r"refused|Connect"):
        await asyncio.open_connection(host, int(port))


async def test_a_service_that_cannot_start_says_why(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(DemoScript, "settings", ["nothing-of-the-kind=1"])
    script = build_town_script(7)
    with pytest.raises(SettingsError, match="nothing-of-the-kind"):
        async with run.run_demo_service(script, scripted=False):
            pass


async def test_the_operators_settings_are_left_alone(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "propagation.toml").write_text('index = "qdrant"\nserver.host = "0.0.0.0"\n')
    for name in ("STORE=neo4j", "REASONER=openai", "MONITORING__PORT=9464", "SERVER__TOKENS=none"):
        monkeypatch.setenv(*f"PROPAGATION_{name}".split("="))
    used = []

    @asynccontextmanager
    async def run_nothing(settings, **_):
        used.append(settings)
        yield SimpleNamespace(address="", page=None)

    monkeypatch.setattr(run, "run_service", run_nothing)
    # Else the rest of this process's tests would log into that file, too.
    monkeypatch.setattr(run, "_log_to_file", lambda: None)
    async with run.run_demo_service(build_town_script(7), scripted=False):
        (settings,) = used
    assert (settings.store, settings.index, settings.reasoner) == ("sqlite", "numpy", "offline")
    assert (settings.server.host, settings.server.port) == ("127.0.0.1", 0)
    assert settings.monitoring.port is None
    assert settings.database.parent.name.startswith("propagation-demo-")


@pytest.mark.slow
async def test_a_refusal_names_the_log_of_the_service(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(Refused, match=r"no such thing; .*service\.log"):
        async with run.run_demo_service(build_town_script(7), scripted=False):
            raise Refused("no such thing")
    assert "ready" in (tmp_path / "demo-out" / "service.log").read_text()


@pytest.mark.slow
async def test_the_town_from_start_to_end(tmp_path):
    process = await run_demo(tmp_path, "--once")
    out, errors = await process.communicate()
    text = out.decode()
    assert process.returncode == 0, errors.decode()
    for said in (
        "generated town, seed 7",
        "before and after",
        "One path, traced",
        "went to router",
        "Recommended to",
        "How it was chosen",
        "An evolution of the routers",
        "Verdict:",
        "Ranking quality",
        "On the recent stream propagation",
    ):
        assert said in text
    assert "On the recent stream propagation hurts" not in text
    assert (tmp_path / "demo-out" / "reach.png").read_bytes().startswith(b"\x89PNG")
    page = (tmp_path / "demo-out" / "report.html").read_text()
    assert "run 1" in page
    assert "Routers: near where they share" in page
    assert not list_leftovers(tmp_path)


@pytest.mark.slow
async def test_a_catalogue_alone_is_searched(tmp_path):
    lines = "".join(f"{n}\tRecord number {n}\t{'Jazz' if n % 2 else 'Opera'}\n" for n in range(60))
    (tmp_path / "c.item").write_text("item_id:token\ttitle:token_seq\tcategory:token_seq\n" + lines)
    process = await run_demo(tmp_path, "--once", "--data", str(tmp_path))
    out, errors = await process.communicate()
    assert process.returncode == 0, errors.decode()
    assert "nothing to rank" in out.decode()
    assert "Most like" in out.decode()
