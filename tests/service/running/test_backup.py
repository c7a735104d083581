"""Back-up of a running service, restored as a new user would, and looked over by `doctor`: every
command a process of its own."""

import json
import os
import sqlite3
import subprocess
import sys
from contextlib import closing

import pytest

from propagation.v1 import propagation_pb2 as pb

COMMAND = [sys.executable, "-m", "services.cli.main"]
pytestmark = pytest.mark.slow  # some fifteen processes
SETTINGS = ["--set", "taste.k=4", "--set", "session.k=4", "--set", "table_edges=2"]


def run_command(*arguments):
    return subprocess.run(
        [*COMMAND, *map(str, arguments)], capture_output=True, text=True, timeout=60, env=os.environ
    )


def read_answer(*arguments):
    done = run_command(*arguments, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture
async def copies(service, tmp_path):
    """(the back-up of a service that runs, the export of it, how far it had recorded)."""
    events = [
        pb.Interaction(event_id=f"e{n}", user_id=f"u{n % 5}", item_id=f"i{n % 7}")
        for n in range(40)
    ]
    acked = await service.stub.RecordInteractions(pb.RecordInteractionsRequest(interactions=events))
    await service.stub.RunRound(pb.RunRoundRequest(drain=True))
    database, copy, lines = tmp_path / "graph.db", tmp_path / "copy.db", tmp_path / "all.jsonl"
    assert read_answer("backup", copy, "--database", database)["bytes"] == copy.stat().st_size
    assert read_answer("export", lines, "--database", database)["rows"] > 40
    again = run_command("backup", copy, "--database", database)
    assert (again.returncode, again.stdout) == (3, "")
    assert "--force" in again.stderr
    busy = run_command("restore", copy, "--database", database, "--force")
    assert busy.returncode == 5
    assert "is held by process" in busy.stderr
    assert run_command("compact", "--database", database).returncode == 5
    return copy, lines, acked.sequence


async def test_what_was_backed_up_or_exported_under_a_running_service_is_restored_sound(
    copies, tmp_path
):
    copy, lines, _ = copies
    restored, imported = tmp_path / "restored.db", tmp_path / "imported.db"
    for source, target in ((copy, restored), (lines, imported)):
        assert read_answer("restore", source, "--database", target)["bytes"] > 0
        refused = run_command("restore", source, "--database", target)
        assert refused.returncode == 3
        assert "--force" in refused.stderr
    looked = read_answer("doctor", "--database", restored, *SETTINGS)
    assert looked["sound"]
    assert not [finding for finding in looked["findings"] if finding["problem"]]
    assert read_answer("compact", "--database", restored)["bytes"] <= restored.stat().st_size + 8192
    assert read_answer("doctor", "--database", imported, *SETTINGS)["sound"]


async def test_doctor_finds_what_was_left_and_mends_it_when_told(copies, tmp_path):
    database = tmp_path / "restored.db"
    read_answer("restore", copies[0], "--database", database)
    with closing(sqlite3.connect(database)) as connection, connection:
        connection.execute("UPDATE point SET version = version + 5 WHERE collection = 'users'")
        connection.execute("DELETE FROM point WHERE collection = 'attributes'")
        connection.execute("UPDATE lease SET expires = 1 << 50")
        connection.execute("INSERT INTO edge VALUES (10000, 0, .5, 999)")
        users = connection.execute(
            "SELECT count(*) FROM point WHERE collection = 'users'"
        ).fetchone()[0]
    mended = read_answer("doctor", "--mend", "--database", database, *SETTINGS)
    said = {
        finding["problem"]: finding["done"] for finding in mended["findings"] if finding["problem"]
    }
    assert mended["sound"]
    removed = [problem for problem, done in said.items() if done == "removed"]
    assert any(problem.startswith("1 row of a round") for problem in removed)
    assert any("leases of a process" in problem for problem in removed)
    (points,) = [problem for problem in said if "points differ from the graph" in problem]
    assert int(points.split()[0]) >= users
    after = read_answer("doctor", "--database", database, *SETTINGS)
    assert after["sound"]
    assert not [finding for finding in after["findings"] if finding["problem"]]
