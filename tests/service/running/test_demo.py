"""The demo as a person starts it: a process, its output, and nothing left behind."""

import asyncio
import os
import signal
import sys
from pathlib import Path

import pytest

from services.cli.exits import ExitCode, code_of
from services.client.errors import ChildFailed
from services.demo import ranking
from services.demo.processes import child, demo_service, exit_in_words

ROOT = Path(__file__).parents[3]
KILLED = """
import asyncio
from services.demo.processes import child

async def main():
    async with child("http.server", ["0", "--bind", "127.0.0.1"]) as process:
        await process.stdout.readline()
        print(process.pid, flush=True)
        await asyncio.sleep(60)

asyncio.run(main())
"""


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


def running(pid: int) -> bool:
    """A process that nobody has waited for yet does not run."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def left_by(folder: Path) -> list[str]:
    return [path.name for path in folder.glob("propagation-demo-*")]


async def test_a_broken_line_is_one_line_and_nothing_starts(tmp_path):
    (tmp_path / "x.inter").write_text("user_id:token\titem_id:token\nu\n")
    process = await run_demo(tmp_path, "--data", str(tmp_path))
    _, errors = await process.communicate()
    assert process.returncode == 3
    [refusal] = errors.decode().splitlines()
    assert refusal.startswith("propagation: x.inter, line 2, item_id: is missing")
    assert not left_by(tmp_path)


async def test_a_child_does_not_outlive_the_block():
    with pytest.raises(RuntimeError):
        async with child("http.server", ["0", "--bind", "127.0.0.1"]) as process:
            raise RuntimeError
    assert process.returncode is not None


async def test_a_child_is_started_without_a_fork_handler_of_this_process():
    forks = []
    os.register_at_fork(before=lambda: forks.append(1))
    async with child("http.server", ["0", "--bind", "127.0.0.1"]):
        assert not forks


@pytest.mark.skipif(sys.platform != "linux", reason="PR_SET_PDEATHSIG is Linux's")
async def test_a_killed_demo_takes_its_children_along():
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", KILLED, cwd=ROOT, stdout=asyncio.subprocess.PIPE
    )
    assert process.stdout is not None
    pid = int(await process.stdout.readline())
    assert running(pid)
    process.kill()
    await process.wait()
    for _ in range(500):
        if not running(pid):
            break
        await asyncio.sleep(0.02)
    assert not running(pid)


async def test_an_evaluation_that_fails_says_why_and_is_no_unreachable_service(
    tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(ranking, "MEASURE", "services.demo.nothing_of_the_kind")
    async with ranking.start_ranking(None, 7) as report:
        with pytest.raises(
            ChildFailed, match=r"exit code 1: .*nothing_of_the_kind.*evaluation\.log"
        ) as raised:
            await report()
    assert code_of(raised.value) == ExitCode.FAULT
    assert "nothing_of_the_kind" in (tmp_path / "demo-out" / "evaluation.log").read_text()


def test_how_a_process_ended_is_said_in_words():
    assert exit_in_words(-signal.SIGABRT).endswith("SIGABRT")
    assert exit_in_words(3).endswith("exit code 3")


@pytest.mark.slow
async def test_one_event_is_too_little_to_show_and_no_fault(tmp_path):
    (tmp_path / "events.jsonl").write_text('{"user_id":"u0","item_id":"i0"}\n')
    process = await run_demo(tmp_path, "--data", str(tmp_path))
    out, errors = await process.communicate()
    assert process.returncode == 0, errors.decode()
    assert "too little to show" in out.decode()
    assert "skipping fork() handlers" not in errors.decode()


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
        "placebo",
    ):
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
