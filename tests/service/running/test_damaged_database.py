"""A database that was damaged behind the service's back: what `doctor`, `serve` and `rebuild` say
of it, every command a process of its own."""

import os
import sqlite3
from contextlib import closing

import pytest

from tests.service.running.test_backup import SETTINGS, copies, read_answer, run_command

pytestmark = pytest.mark.slow  # some ten processes
__all__ = ["copies"]


async def test_a_damaged_block_is_a_finding_and_the_advice_repairs_it(copies, tmp_path):
    options = ["--database", tmp_path / "restored.db", *SETTINGS]
    read_answer("restore", copies[0], *options[:2])
    with closing(sqlite3.connect(options[1])) as connection, connection:
        connection.execute("UPDATE learned SET columns = randomblob(length(columns))")
        connection.execute("DELETE FROM checkpoint")
    found = run_command("doctor", *options)
    assert (found.returncode, found.stderr) == (1, "")
    assert "learned block" in found.stdout
    assert "propagation rebuild" in found.stdout
    started = run_command("serve", "--port", "0", *options)
    assert started.returncode == 1, started.stderr
    last = started.stderr.splitlines()[-1]
    assert last.startswith("propagation: learned block")
    assert last.endswith("run `propagation rebuild`")
    assert read_answer("rebuild", *options)["sequence"] >= copies[2]
    assert read_answer("doctor", *options)["sound"]


async def test_doctor_ends_with_a_finding_where_nothing_can_be_read(copies, tmp_path):
    options = ["--database", tmp_path / "restored.db", *SETTINGS]
    read_answer("restore", copies[0], *options[:2])
    for damage in (
        "UPDATE client SET id = CAST(x'ff' AS TEXT) WHERE ref = 0",
        "UPDATE meta SET value = x'00' WHERE name LIKE 'made_with%'",
        "UPDATE point SET vector = x'00' WHERE collection = 'users'",
    ):
        with closing(sqlite3.connect(options[1])) as connection, connection:
            connection.execute(damage)
        found = run_command("doctor", *options)
        assert (found.returncode, found.stderr) == (1, ""), damage
        assert "stored data" in found.stdout
    data = bytearray(options[1].read_bytes())
    data[4096:8192] = os.urandom(4096)
    options[1].write_bytes(data)
    assert run_command("doctor", *options).returncode == 1
