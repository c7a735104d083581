"""A commit costs the same however long the log is."""

from pathlib import Path

import pytest

from propagation.adapters.sqlite.connection.schema import connect, create_tables
from propagation.adapters.sqlite.forget.withdrawal import MOVE_MERGES
from propagation.adapters.sqlite.reason.reasoned_rows import pack_reasoned, put_packed
from propagation.adapters.sqlite.reason.texts import pack_bodies_now
from propagation.adapters.sqlite.record.clients import drop_words

GRADIENT = (
    "INSERT INTO gradient (sequence, module, owner, writer, reward, text, attributes)"
    " VALUES (?, 'user', 0, 0, 1, '', '')"
)
MERGED = "INSERT INTO merged VALUES (NULL, 2, 1, 3, 1, 'merged', ?)"


@pytest.fixture
def steps():
    """Count the steps of SQLite's machine that work takes after so many rows were inserted."""

    def count(insert, rows, work):
        connection = connect(Path(":memory:"))
        create_tables(connection)
        connection.executemany(insert, [(number,) for number in range(rows)])
        taken = [0]

        def step():
            taken[0] += 1
            return 0

        connection.set_progress_handler(step, 1)
        work(connection)
        connection.close()
        return taken[0]

    return count


def test_a_commit_reads_no_table_of_the_past(steps):
    def commit(connection):
        put_packed(connection, pack_reasoned([], pack_bodies_now([]), []), at=0)

    assert steps(GRADIENT, 10_000, commit) < steps(GRADIENT, 10, commit) + 100


def test_an_erasure_reads_no_merge_of_other_events(steps):
    def move(connection):
        connection.execute(MOVE_MERGES, (20_000, "[5]"))

    assert steps(MERGED, 10_000, move) < steps(MERGED, 10, move) + 100


def test_a_change_of_a_client_reads_no_search_word_of_others(steps):
    def drop(connection):
        connection.execute(
            "INSERT INTO client (ref, kind, id, sequence) VALUES (2000001, 1, 'one two', 1)"
        )
        drop_words(connection, [2_000_001])

    word = "INSERT INTO client_word VALUES (1, 'word', ?)"
    assert steps(word, 10_000, drop) < steps(word, 10, drop) + 100
