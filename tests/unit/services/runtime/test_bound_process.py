"""A bound process ends with its parent."""

import asyncio
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[4]
KILLED = """
import subprocess, sys
from services.runtime.bound_process import build_bound_command

child = subprocess.Popen(build_bound_command("http.server", "0", "--bind", "127.0.0.1"), stdout=-1)
child.stdout.readline()
print(child.pid, flush=True)
child.wait()
"""


def is_running(pid: int) -> bool:
    """A process that nobody has waited for yet does not run."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


@pytest.mark.skipif(sys.platform != "linux", reason="PR_SET_PDEATHSIG is Linux's")
async def test_a_killed_process_takes_its_children_along():
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", KILLED, cwd=ROOT, stdout=asyncio.subprocess.PIPE
    )
    assert process.stdout is not None
    pid = int(await process.stdout.readline())
    assert is_running(pid)
    process.kill()
    await process.wait()
    for _ in range(500):
        if not is_running(pid):
            break
        await asyncio.sleep(0.02)
    assert not is_running(pid)
