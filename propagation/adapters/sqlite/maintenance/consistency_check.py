"""Checks of the stored data, and what killed processes left.

Each finding is a sentence.
"""

import sqlite3
from collections.abc import Iterator
from itertools import islice

from zstandard import ZstdError

from propagation.adapters.shared.learned_blocks import BYTES_PER_ROW
from propagation.adapters.shared.log_progress import find_progress_faults
from propagation.adapters.sqlite.connection import free_all, one, progress_of, recorded_through
from propagation.adapters.sqlite.learn.learn import learned_through
from propagation.adapters.sqlite.reason.claims import REASONED
from propagation.adapters.sqlite.reason.text_bodies import parts_of
from propagation.adapters.sqlite.rounds.messages import last_round
from propagation.adapters.sqlite.rounds.rounds import discard_unpublished
from propagation.model import pluralize

FINDINGS_A_QUESTION = 5
# Each row found is one thing wrong; the text is filled with the row's columns.
QUESTIONS = (
    (
        "sequence {} is given to an interaction and to another log entry",
        "SELECT sequence FROM interaction JOIN log USING (sequence)",
    ),
    (
        "interaction {} names user {}, whom the graph does not have",
        "SELECT sequence, user FROM interaction WHERE user NOT IN (SELECT ref FROM client)",
    ),
    (
        "interaction {} names item {}, which the graph does not have",
        "SELECT sequence, item FROM interaction WHERE item NOT IN (SELECT ref FROM client)",
    ),
    (
        "interaction {} was committed before the one ahead of it",
        (
            "SELECT sequence FROM (SELECT sequence, at, lag(at) OVER (ORDER BY sequence) AS ahead "
            "FROM interaction) WHERE at < ahead"
        ),
    ),
    (
        "learned block {} does not start where the one before it ends, at {}",
        "SELECT through, ahead FROM (SELECT through, start, lag(through, 1, 0) OVER (ORDER BY "
        "through) AS ahead FROM learned)"
        " WHERE start <> ahead",
    ),
    (
        "learned block {} holds {} interactions, the log has {} there",
        "SELECT * FROM (SELECT l.through, l.size, (SELECT count(*) FROM interaction i WHERE "
        "i.sequence > l.start"
        " AND i.sequence <= l.through) + (SELECT count(*) FROM vacant v WHERE v.sequence > "
        "l.start AND v.sequence <= l.through"
        " AND v.learned) AS held FROM learned l) WHERE size <> held",
    ),
    (
        "learned block {} has {} bytes, which do not fit its {} interactions",
        "SELECT through, length(columns), size FROM learned WHERE length(columns) <>"
        f" size * {BYTES_PER_ROW}",
    ),
    (
        "a checkpoint covers sequence {}, but the learned blocks end at {}",
        "SELECT sequence, ended FROM checkpoint,"
        " (SELECT coalesce(max(through), 0) AS ended FROM learned) WHERE complete AND"
        " sequence > ended",
    ),
    (
        "increments of trust through sequence {} belong to no learned block",
        "SELECT through FROM trust_delta WHERE through NOT IN (SELECT through FROM learned)",
    ),
    (
        "two interactions have one event id, sequences {} and {}",
        "SELECT i.sequence, j.sequence FROM interaction i JOIN interaction j ON j.seed = i.seed "
        "AND j.event_id = i.event_id"
        " AND j.sequence > i.sequence",
    ),
    (
        "two clients have one id, refs {} and {}",
        "SELECT min(ref), max(ref) FROM client GROUP BY kind, id HAVING count(*) > 1",
    ),
    (
        "interaction {} was taken back but is in the log",
        "SELECT sequence FROM interaction WHERE sequence IN (SELECT sequence FROM vacant)",
    ),
    (
        "interaction {} is reasoned but not in the log",
        "SELECT sequence FROM reasoned WHERE sequence NOT IN (SELECT sequence FROM interaction)",
    ),
    (
        "client {}: version {} of its profile does not follow the one before it",
        "SELECT ref, version FROM (SELECT ref, version, lag(version) OVER (PARTITION BY ref "
        "ORDER BY version) AS ahead, sequence"
        " FROM profile_version) WHERE ahead <> version - 1 AND sequence > "
        " coalesce((SELECT value FROM progress WHERE name = 'oldest_kept'), 0)",
    ),
    (
        "{} versions of profiles were written, but the newest ones that are stored add up to {}",
        "SELECT t.value - f.value AS written, stored FROM progress t, progress f,"
        " (SELECT coalesce(sum(newest), 0) AS stored FROM"
        " (SELECT max(version) AS newest FROM profile_version GROUP BY ref))"
        " WHERE t.name = 'texts' AND f.name = 'texts_forgotten' AND written <> stored",
    ),
    (
        "a profile belongs to client {}, which the graph does not have",
        "SELECT DISTINCT ref FROM profile_version WHERE ref NOT IN (SELECT ref FROM client)",
    ),
    (
        "an edge leads from router {} to client {}, which the graph does not have",
        "SELECT router, ref FROM edge_ever WHERE ref NOT IN (SELECT ref FROM client)",
    ),
    (
        "the edge from router {} to client {} ended after it was opened anew",
        "SELECT e.router, e.ref FROM edge e JOIN edge_past p ON p.ref = e.ref AND p.router = "
        "e.router AND p.closed > e.opened"
        " WHERE p.closed <= (SELECT coalesce(max(number), 0) FROM round)",
    ),
    (
        "epoch {}, which the log opens at sequence {}, is missing",
        (
            "SELECT number, sequence FROM log WHERE kind IN ('bootstrap', 'evolution') AND sequence"
            " NOT IN (SELECT sequence FROM epoch)"
        ),
    ),
    (
        "the map of evolution {} is missing, by which stored weights are read",
        "SELECT run FROM evolution_run WHERE published AND run NOT IN (SELECT run FROM router_map)",
    ),
    (
        "client {} has merged through round {}, which was never published",
        (
            "SELECT ref, watermark FROM profile_version WHERE watermark > (SELECT "
            "coalesce(max(number), 0) FROM round)"
        ),
    ),
)


# Remains of killed processes: harmless, but counted and removed here.
LEFTOVERS = (
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


def findings(connection: sqlite3.Connection, *, thorough: bool = True) -> list[str]:
    """Return findings, at most five of a kind.

    Args:
        thorough: Compare each index with its table too, most of the time (50 s of 65, for
            2.3 GB), and read every text.

    Returns:
        Empty if the database is sound.
    """
    look = "integrity_check" if thorough else "quick_check"
    found = [
        f"the file is damaged: {row[0]}; restore it from a back-up"
        for row in connection.execute(f"PRAGMA {look}({FINDINGS_A_QUESTION})")
        if row[0] != "ok"
    ]
    if found:
        return found
    for text, question in QUESTIONS:
        found.extend(
            text.format(*row)
            for row in connection.execute(f"{question} LIMIT {FINDINGS_A_QUESTION}")
        )
    if thorough:
        found.extend(islice(_unreadable_texts(connection), FINDINGS_A_QUESTION))
    return found + list(_progress_faults(connection))


def _unreadable_texts(connection: sqlite3.Connection) -> Iterator[str]:
    for ref, version, body in connection.execute("SELECT ref, version, body FROM profile_version"):
        try:
            parts_of(body)
        except (ZstdError, ValueError, TypeError, LookupError) as error:
            yield f"client {ref}: version {version} of its profile cannot be read: {error}"


def _progress_faults(connection: sqlite3.Connection) -> Iterator[str]:
    entries = one(
        connection,
        "SELECT (SELECT count(*) FROM interaction) + (SELECT count(*) FROM log)"
        " + (SELECT count(*) FROM vacant)",
    )
    trust_gap = one(
        connection,
        "SELECT min(l.through) FROM learned l LEFT JOIN trust_delta t USING (through)"
        " WHERE t.through IS NULL"
        " AND l.through > coalesce((SELECT max(sequence) FROM checkpoint WHERE complete), 0)",
    )
    return find_progress_faults(
        entries,
        recorded_through(connection),
        learned_through(connection),
        progress_of(connection, REASONED),
        trust_gap,
    )


def leftovers(connection: sqlite3.Connection) -> list[str]:
    """Count remains, while no process serves the database.

    The work of such a process looks the same.
    """
    last = last_round(connection)
    found = [
        (connection.execute(sql, {"last": last}).fetchone()[0], noun, of)
        for noun, of, sql in LEFTOVERS
    ]
    return [f"{pluralize(count, noun)} {of}" for count, noun, of in found if count]


def drop_leftovers(connection: sqlite3.Connection) -> None:
    """Remove remains in one transaction; nothing published or acknowledged changes."""
    connection.execute("BEGIN IMMEDIATE")
    free_all(connection)
    discard_unpublished(connection, last_round(connection), everywhere=True)
    connection.execute("DELETE FROM staged_learned")
    connection.execute("DELETE FROM checkpoint WHERE NOT complete")
    connection.execute(
        "DELETE FROM checkpoint_part WHERE checkpoint NOT IN (SELECT id FROM checkpoint)"
    )
    connection.execute("COMMIT")
