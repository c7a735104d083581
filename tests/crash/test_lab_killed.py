"""kill -9 in the middle of a run of the laboratory: it goes on, and pays for no answer twice."""

import asyncio
import json
import os
import re
import sys
from collections import Counter
from pathlib import Path

import pytest

from services.fake_llm.script import Script
from services.fake_llm.server import FakeLLM, fake_llm
from services.laboratory.answers.kept_replies import BEGUN_A_SLOT
from tests.unit.laboratory.titled_data import write_titled_dataset
from tests.waiting import wait_until

pytestmark = pytest.mark.slow
USERS, IN_FLIGHT, KILLED_AFTER = 60, 5, (40, 100)


class Counting(FakeLLM):
    """Counts how many answers each prompt got, and says no four times in five."""

    def __init__(self, script):
        super().__init__(script)
        self.answered = Counter()

    def write_answer(self, messages, response_format, *, obeying):
        answer = super().write_answer(messages, response_format, obeying=obeying)
        self.answered[json.dumps(messages)] += 1
        if "decision" in answer and self.answered.total() % 5:
            answer["decision"] |= {"decision": "no", "reason": "It is too much like the others."}
        return answer


async def start(folder, run, server):
    return await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "services.cli.main", "lab", "run", "afl/table4"),
        *("--data", str(folder), "--run", str(run), "--methods", "afl(pop)", "--seeds", "1"),
        *("--model", "scripted", "--set", f"openai.base_url={server.base_url}"),
        *("--set", f"openai.in_flight={IN_FLIGHT}", "--yes", "--json"),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env=os.environ.copy(),
    )


async def test_a_killed_run_asks_only_what_was_begun_again(tmp_path):
    folder = write_titled_dataset(tmp_path / "titled", users=USERS, items=80, each=6)
    async with fake_llm(Script(latency=0.1), kind=Counting) as server:
        for after in KILLED_AFTER:
            process = await start(folder, tmp_path / "run", server)
            while server.answered.total() < after and process.returncode is None:  # noqa: ASYNC110 - a process is watched
                await asyncio.sleep(0.005)
            assert process.returncode is None, "it is killed while it asks"
            process.kill()
            await process.communicate()
        assert not list((tmp_path / "run").glob("*-*.npz")), "no part was done"
        before = len(server.answered)
        process = await start(folder, tmp_path / "run", server)
        output, errors = await process.communicate()
        assert process.returncode == 0, errors.decode()[-2_000:]
        said = re.search(r"about (\d+) calls,.* besides (\d+) kept answers", errors.decode())
        rest, kept = map(int, said.groups())
        assert rest + kept == 7 * USERS, "the estimate, without what is kept"
        # 50 answers a second, and counts are written twice a second.
        assert before - len(KILLED_AFTER) * (IN_FLIGHT + 40) <= kept <= before
        [row] = json.loads(output)["methods"]
        assert row["targets"] == USERS
        again = server.answered.total() - len(server.answered)
        assert len(server.answered) > 3 * USERS, "most users were asked several times"
        # Calls begin while earlier answers are being written.
        begun = len(KILLED_AFTER) * BEGUN_A_SLOT * IN_FLIGHT
        assert again <= begun, "what was begun at a kill, and no more"
        calls = server.answered.total()
        process = await start(folder, tmp_path / "run", server)
        await process.communicate()
        assert server.answered.total() == calls, "a run that is done asks nothing"


PROGRAM = """
import os, pathlib, subprocess, sys, time
child = subprocess.Popen(["sleep", "77"])
pathlib.Path(__file__).with_name("running").write_text(f"{os.getpid()} {child.pid}")
time.sleep(77)
"""
END_SECONDS, START_SECONDS = 2.0, 120.0


def is_running(pid):
    state = Path(f"/proc/{pid}/stat")
    return state.exists() and state.read_text().rpartition(")")[2].split()[0] != "Z"


def list_leftovers(folder):
    return [path.name for path in folder.iterdir() if path.name.startswith("propagation-lab-")]


@pytest.mark.alone
async def test_a_killed_run_leaves_no_program_and_the_next_one_removes_its_folder(tmp_path):
    """The program and a child of it end within two seconds, though nobody can tell them to."""
    data = write_titled_dataset(tmp_path / "titled", users=USERS, items=80, each=6)
    program, temporary = tmp_path / "slow.py", tmp_path / "temporary"
    temporary.mkdir()
    program.write_text(PROGRAM)

    async def start_run(methods):
        return await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "services.cli.main", "lab", "run", "recnet/table2"),
            *("--data", str(data), "--run", str(tmp_path / "run"), "--methods", methods),
            *("--seeds", "1", "--json"),
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env={**os.environ, "TMPDIR": str(temporary)},
        )

    process = await start_run(f"program:{program}")
    noted = tmp_path / "running"
    await wait_until(lambda: noted.exists() and len(noted.read_text().split()) == 2, START_SECONDS)
    pids = [int(one) for one in noted.read_text().split()]
    assert all(map(is_running, pids))
    assert len(list_leftovers(temporary)) == 1
    process.kill()
    await process.communicate()
    await wait_until(lambda: not any(map(is_running, pids)), END_SECONDS)
    assert len(list_leftovers(temporary)) == 1, "nobody was left to remove it"
    process = await start_run("pop")
    _, errors = await process.communicate()
    assert process.returncode == 0, errors.decode()[-2_000:]
    assert list_leftovers(temporary) == []
