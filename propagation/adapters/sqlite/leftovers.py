"""What a process that was killed leaves behind: harmless, for whoever comes next passes over it, but found and removed here."""

import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass

from propagation.adapters.sqlite.messages import last_round
from propagation.adapters.sqlite.rounds import discard_unpublished
from propagation.adapters.sqlite.rows import dumped, one

COUNTS = (
    ("leases of a process that is gone", "SELECT count(*) FROM lease WHERE expires > 0"),
    ("claims of a process that is gone", "SELECT count(*) FROM claim"),
    ("rows of a round that was never published",
     "SELECT (SELECT count(*) FROM staged_attribute) + (SELECT count(*) FROM staged_held)"
     " + (SELECT count(*) FROM router_version WHERE round > :last)"
     " + (SELECT count(*) FROM edge WHERE opened > :last) + (SELECT count(*) FROM edge WHERE closed > :last)"),
    ("blocks of an epoch that was never opened", "SELECT count(*) FROM staged_learned"),
    ("checkpoints that were never completed, or parts of such",
     "SELECT (SELECT count(*) FROM checkpoint WHERE NOT complete)"
     " + (SELECT count(*) FROM checkpoint_part WHERE checkpoint NOT IN (SELECT id FROM checkpoint WHERE complete))"),
)
# Points that are not what the graph's newest texts and published messages ask for.
CLIENT_POINTS = (
    "SELECT count(*) FROM (SELECT ref, max(version) AS version FROM profile_version GROUP BY ref) t LEFT JOIN point p"
    " ON p.collection = CASE t.ref & 1 WHEN 0 THEN 'users' ELSE 'items' END AND p.key = CAST(t.ref AS TEXT)"
    " WHERE p.version IS NOT t.version")
STRAY_POINTS = ("SELECT count(*) FROM point WHERE collection IN ('users', 'items')"
                " AND CAST(key AS INTEGER) NOT IN (SELECT ref FROM profile_version)")
ROUTER_POINTS = (
    "SELECT count(*) FROM point p WHERE collection = 'routers' AND version <> coalesce("
    "(SELECT max(v.version) FROM router_version v WHERE v.router = CAST(p.key AS INTEGER) AND v.round <= ?), 0)")


@dataclass(frozen=True)
class Leftover:
    """So many of something."""

    what: str
    count: int


def leftovers(connection: sqlite3.Connection) -> list[Leftover]:
    """Those there are. To be asked while no process serves the database: what one that runs holds looks the same."""
    last = last_round(connection)
    found = [Leftover(what, connection.execute(sql, {"last": last}).fetchone()[0]) for what, sql in COUNTS]
    return [leftover for leftover in found if leftover.count]


def stale_points(connection: sqlite3.Connection) -> int:
    """How many points of the vector index differ from the graph by version. Opening makes them good."""
    clients = int(one(connection, CLIENT_POINTS)) + int(one(connection, STRAY_POINTS))
    return clients + int(one(connection, ROUTER_POINTS, last_round(connection))) + sum(_attributes(connection))


def drop_leftovers(connection: sqlite3.Connection) -> None:
    """Inside of a transaction: remove them. Nothing that was published or acknowledged is touched."""
    connection.execute("UPDATE lease SET expires = 0")
    connection.execute("DELETE FROM claim")
    discard_unpublished(connection, last_round(connection))
    connection.execute("DELETE FROM staged_learned")
    connection.execute("DELETE FROM checkpoint WHERE NOT complete")
    connection.execute("DELETE FROM checkpoint_part WHERE checkpoint NOT IN (SELECT id FROM checkpoint)")


def _attributes(connection: sqlite3.Connection) -> Iterator[int]:
    stored = {dumped(name) for name, in connection.execute("SELECT name FROM attribute WHERE canonical IS NULL")}
    kept = {key for key, in connection.execute("SELECT key FROM point WHERE collection = 'attributes'")}
    yield len(stored ^ kept)
