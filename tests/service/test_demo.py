"""The demo as a person starts it: a process, its output, and nothing left behind."""

import asyncio
import os
import signal
import sys
from pathlib import Path

import pytest

from services.demo.process import child, demo_service

ROOT = Path(__file__).parents[2]


async def run_demo(folder: Path, *arguments: str) -> asyncio.subprocess.Process:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(folder)}
    return await asyncio.create_subprocess_exec(
        sys.executable, "-m", "services.cli.main", "demo", *arguments, cwd=folder, env=environment,
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE)


def left_by(folder: Path) -> list[str]:
    return [path.name for path in folder.glob("propagation-demo-*")]


async def test_a_broken_line_is_one_line_and_nothing_starts(tmp_path):
    (tmp_path / "x.inter").write_text("user_id:token\titem_id:token\nu\n")
    process = await run_demo(tmp_path, "--data", str(tmp_path))
    _, errors = await process.communicate()
    assert process.returncode == 3
    assert errors.decode().splitlines() == ["propagation: x.inter, line 2, item_id: is missing: the line has 1 fields, not 2"]
    assert not left_by(tmp_path)


async def test_a_child_does_not_outlive_the_block():
    with pytest.raises(RuntimeError):
        async with child("http.server", ["0", "--bind", "127.0.0.1"]) as process:
            raise RuntimeError
    assert process.returncode is not None


@pytest.mark.slow
async def test_ctrl_c_leaves_nothing_running(tmp_path):
    process = await run_demo(tmp_path)
    assert process.stdout is not None
    async for line in process.stdout:
        if b"A service of its own answers at" in line:
            break
    address = line.split(b" at ")[1].split(b",")[0].decode()
    process.send_signal(signal.SIGINT)
    await process.communicate()
    assert process.returncode == 130
    assert not left_by(tmp_path)
    host, port = address.split(":")
    with pytest.raises(OSError, match=r"refused|Connect"):
        await asyncio.open_connection(host, int(port))


@pytest.mark.slow
async def test_a_service_that_cannot_start_says_why():
    with pytest.raises(Exception, match="nothing-of-the-kind"):
        async with demo_service(["nothing-of-the-kind=1"]):
            pass


@pytest.mark.slow
async def test_the_town_from_start_to_end(tmp_path):
    process = await run_demo(tmp_path)
    out, errors = await process.communicate()
    text = out.decode()
    assert process.returncode == 0, errors.decode()
    for said in ("generated town, seed 7", "before and after", "One path, traced", "Recommended to",
                 "An evolution of the routers", "Verdict:", "Ranking quality", "placebo"):
        assert said in text
    assert (tmp_path / "demo-out" / "reach.png").read_bytes().startswith(b"\x89PNG")
    page = (tmp_path / "demo-out" / "report.html").read_text()
    assert "run 1" in page
    assert "Routers: near where they share" in page
    assert not left_by(tmp_path)


@pytest.mark.slow
async def test_a_catalogue_alone_is_searched(tmp_path):
    lines = "".join(f"{n}\tRecord number {n}\t{'Jazz' if n % 2 else 'Opera'}\n" for n in range(60))
    (tmp_path / "c.item").write_text("item_id:token\ttitle:token_seq\tcategory:token_seq\n" + lines)
    process = await run_demo(tmp_path, "--data", str(tmp_path))
    out, errors = await process.communicate()
    assert process.returncode == 0, errors.decode()
    assert "nothing to rank" in out.decode()
    assert "Most like" in out.decode()
