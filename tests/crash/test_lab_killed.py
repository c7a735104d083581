"""kill -9 in the middle of a run of the laboratory: it goes on, and pays for no answer twice."""

import asyncio
import json
import os
import sys
from collections import Counter

import pytest

from services.fake_llm.script import Script
from services.fake_llm.server import FakeLLM, fake_llm
from tests.unit.laboratory.titled_data import build_titled_dataset

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


def write_dataset(folder):
    folder.mkdir()
    dataset = build_titled_dataset(users=USERS, items=80, each=6)
    items = [
        {"kind": "item", "id": one.key.id, "title": one.title, "categories": list(one.categories)}
        for one in dataset.items
    ]
    (folder / "clients.jsonl").write_text("\n".join(map(json.dumps, items)))
    events = [
        {"user_id": one.user_id, "item_id": one.item_id, "time": one.time // 1_000}
        for one in dataset.events
    ]
    (folder / "events.jsonl").write_text("\n".join(map(json.dumps, events)))
    return folder


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


async def test_a_killed_run_asks_only_what_was_in_flight_again(tmp_path):
    folder = write_dataset(tmp_path / "titled")
    async with fake_llm(Script(latency=0.1), kind=Counting) as server:
        for after in KILLED_AFTER:
            process = await start(folder, tmp_path / "run", server)
            while server.answered.total() < after and process.returncode is None:  # noqa: ASYNC110 - a process is watched
                await asyncio.sleep(0.005)
            assert process.returncode is None, "it is killed while it asks"
            process.kill()
            await process.communicate()
        assert not list((tmp_path / "run").glob("*-*.npz")), "no part was done"
        process = await start(folder, tmp_path / "run", server)
        output, errors = await process.communicate()
        assert process.returncode == 0, errors.decode()[-2_000:]
        [row] = json.loads(output)["methods"]
        assert row["targets"] == USERS
        again = server.answered.total() - len(server.answered)
        assert len(server.answered) > 3 * USERS, "most users were asked several times"
        assert again <= len(KILLED_AFTER) * IN_FLIGHT, "what was in flight at a kill, and no more"
        calls = server.answered.total()
        process = await start(folder, tmp_path / "run", server)
        await process.communicate()
        assert server.answered.total() == calls, "a run that is done asks nothing"
