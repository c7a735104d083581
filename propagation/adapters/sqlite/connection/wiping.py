"""What SQLite leaves of deleted rows, and how it goes.

`secure_delete` overwrites rows and pages with zeros as they are freed. What is left then are frames
of the write-ahead log, and copies of rows that moved to another page when theirs was split or
merged, in the unused middle of the old page. The log is emptied. A small file is written anew; in a
large one those middles are overwritten (middles.py)."""

import os
import sqlite3

from propagation.adapters.sqlite.connection.free_page_zeroing import PAGES_TOLD_APART, size_of_pages
from propagation.adapters.sqlite.connection.json_rows import one

SMALL_BYTES = 32 << 20
TO_WIPE, TAKEN_BACK = "to_wipe", "taken_back"
AUTO_VACUUM = 52  # where a file says whether it keeps pages of another kind for that


def forgotten_times(connection: sqlite3.Connection) -> int:
    """How often a client was forgotten whose traces in the file may still be there."""
    return one(connection, "SELECT value FROM progress WHERE name = ?", TO_WIPE) or 0


def last_withdrawal(connection: sqlite3.Connection) -> int:
    """The sequence of the newest retraction or erasure."""
    return one(connection, "SELECT value FROM progress WHERE name = ?", TAKEN_BACK) or 0


def wiped(connection: sqlite3.Connection, times: int) -> None:
    """No trace is left of who had been forgotten by then; where it is more by now, it stays due."""
    connection.execute("DELETE FROM progress WHERE name = ? AND value = ?", (TO_WIPE, times))


def write_anew(connection: sqlite3.Connection) -> None:
    """Outside of a transaction. Row numbers may be others then."""
    connection.execute("VACUUM")


def has_to_be_written_anew(handle: int) -> bool:
    """A small file, with which that is done in a moment; and one in which a page's first byte does
    not tell what it is."""
    size = os.fstat(handle).st_size
    return (
        size <= SMALL_BYTES
        or size // size_of_pages(handle) >= PAGES_TOLD_APART
        or any(os.pread(handle, 4, AUTO_VACUUM))
    )
