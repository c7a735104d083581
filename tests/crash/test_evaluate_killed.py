"""kill -9 in the middle of `evaluate --protocol leave-one-out` by a reasoner: resumed, it ends like
one that nobody stopped."""

import asyncio
import json
import os
import sqlite3
import sys
from contextlib import closing

import pytest

from services.fake_llm.script import Script
from services.fake_llm.server import fake_llm

pytestmark = pytest.mark.slow

USERS, ITEMS, EACH = 6, 14, 5
STYLES = ("opera", "jazz", "folk", "dub")
KILLED_AFTER = (9, 30, 52)  # calls: in the first profiles, between rounds, and while it ranks
TEXTS = (
    (
        "SELECT ref, version, sequence, next_id, body, watermark, dropped FROM profile_version"
        " ORDER BY 1, 2"
    ),
    (
        "SELECT sequence, module, owner, writer, reward, text, attributes FROM gradient ORDER BY 1,"
        " 2, 3"
    ),
    "SELECT router, version, round, name, text, attributes FROM router_version ORDER BY 1, 2",
    "SELECT sequence, user, reward FROM reasoned ORDER BY 1",
)


def write_atomic_files(folder):
    """Users who like one style each, in RecBole's atomic files."""
    folder.mkdir()
    rows = [
        "user_id:token\titem_id:token\ttimestamp:float",
        *(
            f"u{user}\ti{(4 * turn + user) % ITEMS}\t{turn * USERS + user}"
            for turn in range(EACH)
            for user in range(USERS)
        ),
    ]
    (folder / "small.inter").write_text("\n".join(rows) + "\n")
    titles = [
        "item_id:token\ttitle:token_seq\tcategories:token_seq",
        *(f"i{item}\tRecord {item}\t{STYLES[item % 4]}" for item in range(ITEMS)),
    ]
    (folder / "small.item").write_text("\n".join(titles) + "\n")
    return folder


async def start_evaluation(folder, database, server):
    assignments = (
        f"database={database}",
        "reasoner=openai",
        f"openai.base_url={server.base_url}",
        "openai.model=scripted",
        "openai.in_flight=3",
        "session.k=4",
        "taste.k=4",
        "table_edges=2",
        "bootstrap_items=8",
        "update_size=8",
    )
    return await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "services.cli.main",
        "evaluate",
        str(folder),
        "--protocol",
        "leave-one-out",
        "--seeds",
        "2",
        "--json",
        *(part for one in assignments for part in ("--set", one)),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env=os.environ.copy(),
    )


async def read_result(process):
    output, errors = await process.communicate()
    assert process.returncode == 0, errors.decode()[-2_000:]
    assert "Traceback" not in errors.decode()
    return json.loads(output)


def read_rows(database):
    with closing(sqlite3.connect(database)) as connection:
        return [connection.execute(query).fetchall() for query in TEXTS]


async def test_it_goes_on_where_it_was_and_ends_the_same(tmp_path):
    folder = write_atomic_files(tmp_path / "small")
    async with fake_llm(Script(latency=0.02)) as server:
        whole = await read_result(await start_evaluation(folder, tmp_path / "whole.db", server))
        calls = server.seen.calls.total()
        assert calls > KILLED_AFTER[-1], "the kills fall within the run"
        killed = 0
        for after in KILLED_AFTER:
            begun = server.seen.calls.total()
            process = await start_evaluation(folder, tmp_path / "killed.db", server)
            while server.seen.calls.total() - calls < after and process.returncode is None:  # noqa: ASYNC110 - a process is watched
                await asyncio.sleep(0.005)
            killed += process.returncode is None and server.seen.calls.total() > begun
            if process.returncode is None:
                process.kill()
            await process.communicate()
        assert killed == len(KILLED_AFTER), "each run was killed while it asked"
        resumed = await read_result(await start_evaluation(folder, tmp_path / "killed.db", server))
        again = server.seen.calls.total() - 2 * calls
    assert (whole["runs"], resumed["runs"]) == (1, 1 + len(KILLED_AFTER)), (
        "each start counts as a run"
    )
    assert whole["seconds_in_all"] == pytest.approx(whole["seconds"], abs=0.1), (
        "one run: its time is the whole time"
    )
    assert resumed["seconds_in_all"] > resumed["seconds"], "several runs: their times add up"
    assert sum(one["calls"] for one in whole["cost_in_all"]) == calls, "every call is in the cost"
    same = ("users", "learned", "dead_letters", "draws", "reasoner", "dataset")
    assert {name: resumed[name] for name in same} == {name: whole[name] for name in same}, (
        "the result is the same"
    )
    assert read_rows(tmp_path / "killed.db") == read_rows(tmp_path / "whole.db"), "so are the texts"
    assert again < calls / 2, (
        "what was in flight at a kill, or not written yet, is asked again, and no more"
    )
