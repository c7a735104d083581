"""Remains of killed processes: harmless, but counted and removed here."""

import sqlite3

from propagation.adapters.sqlite.rounds.messages import last_round
from propagation.adapters.sqlite.rounds.rounds import discard_unpublished
from propagation.model import pluralize

COUNTS = (
    ("lease", "of a process that is gone", "SELECT count(*) FROM lease WHERE expires > 0"),
    ("claim", "of a process that is gone", "SELECT count(*) FROM claim"),
    (
        "row",
        "of a round that was never published",
        "SELECT (SELECT count(*) FROM staged_attribute) + (SELECT count(*) FROM staged_held)"
        " + (SELECT count(*) FROM staged_outbox)"
        " + (SELECT count(*) FROM router_version WHERE round > :last)"
        " + (SELECT count(*) FROM edge WHERE opened > :last) + (SELECT count(*) FROM edge_past "
        "WHERE closed > :last)",
    ),
    ("block", "of an epoch that was never opened", "SELECT count(*) FROM staged_learned"),
    (
        "part",
        "of checkpoints that were never completed",
        "SELECT (SELECT count(*) FROM checkpoint WHERE NOT complete)"
        " + (SELECT count(*) FROM checkpoint_part WHERE checkpoint NOT IN (SELECT id FROM "
        "checkpoint WHERE complete))",
    ),
)


def leftovers(connection: sqlite3.Connection) -> list[str]:
    """Count remains, while no process serves the database (its work looks the same)."""
    last = last_round(connection)
    found = [
        (connection.execute(sql, {"last": last}).fetchone()[0], noun, of)
        for noun, of, sql in COUNTS
    ]
    return [f"{pluralize(count, noun)} {of}" for count, noun, of in found if count]


def drop_leftovers(connection: sqlite3.Connection) -> None:
    """Remove remains inside a transaction; nothing published or acknowledged changes."""
    connection.execute("UPDATE lease SET expires = 0")
    connection.execute("DELETE FROM claim")
    discard_unpublished(connection, last_round(connection), everywhere=True)
    connection.execute("DELETE FROM staged_learned")
    connection.execute("DELETE FROM checkpoint WHERE NOT complete")
    connection.execute(
        "DELETE FROM checkpoint_part WHERE checkpoint NOT IN (SELECT id FROM checkpoint)"
    )
