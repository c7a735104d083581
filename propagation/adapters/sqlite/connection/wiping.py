"""Removal of the traces that SQLite leaves of deleted rows.

`PRAGMA secure_delete` overwrites rows with zeros as they are deleted. Two kinds of traces stay:
copies of rows in pages that were split or merged, and frames of the write-ahead log. Writing the
file anew removes the first, emptying the log the second.
"""

import sqlite3

from propagation.adapters.sqlite.connection.json_rows import one

TO_WIPE, TAKEN_BACK = "to_wipe", "taken_back"
LOG_WAIT_MS, BUSY_MS = 50, 30_000


def forgotten_times(connection: sqlite3.Connection) -> int:
    """Count the erasures whose traces may still be in the file."""
    return one(connection, "SELECT value FROM progress WHERE name = ?", TO_WIPE) or 0


def last_withdrawal(connection: sqlite3.Connection) -> int:
    """Return the sequence of the newest retraction or erasure, 0 before the first."""
    return one(connection, "SELECT value FROM progress WHERE name = ?", TAKEN_BACK) or 0


def mark_wiped(connection: sqlite3.Connection, times: int) -> None:
    """Note that the traces of so many erasures are gone, unless there was another one since."""
    connection.execute("DELETE FROM progress WHERE name = ? AND value = ?", (TO_WIPE, times))


def write_anew(connection: sqlite3.Connection) -> None:
    """Write every page of the file anew, outside of a transaction.

    SQLite does this in one transaction: killed inside it, the file is as it was.
    """
    connection.execute("VACUUM")


def empty_log(connection: sqlite3.Connection) -> bool:
    """Move the write-ahead log into the file and empty it, outside of a transaction.

    Returns:
        False if a reader, such as a back-up, still needs the log. It hardly waits for one, as
        commits wait meanwhile.
    """
    connection.execute(f"PRAGMA busy_timeout={LOG_WAIT_MS}")
    try:
        return not connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
    finally:
        connection.execute(f"PRAGMA busy_timeout={BUSY_MS}")
