"""A commit costs the same however long the log is."""

import sqlite3

import pytest

from propagation.adapters.sqlite.connection.schema import create_tables
from propagation.adapters.sqlite.reason.reasoned_rows import pack_reasoned, put_packed
from propagation.adapters.sqlite.reason.texts import bodies_now

GRADIENT = (
    "INSERT INTO gradient (sequence, module, owner, writer, reward, text, attributes)"
    " VALUES (?, 'user', 0, 0, 1, '', '')"
)


@pytest.fixture
def steps():
    """Count the steps of SQLite's machine that a reasoned commit takes after so many gradients."""

    def count(gradients):
        connection = sqlite3.connect(":memory:")
        create_tables(connection)
        connection.executemany(GRADIENT, [(number,) for number in range(gradients)])
        taken = [0]

        def step():
            taken[0] += 1
            return 0

        connection.set_progress_handler(step, 1)
        put_packed(connection, pack_reasoned([], bodies_now([])), at=0)
        connection.close()
        return taken[0]

    return count


def test_a_commit_reads_no_table_of_the_past(steps):
    assert steps(10_000) < steps(10) + 100
