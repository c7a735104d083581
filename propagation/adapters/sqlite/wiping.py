"""What SQLite leaves of deleted rows, and how it goes.

`secure_delete` overwrites rows and pages with zeros as they are freed. What is left then are frames of the write-ahead log, and
copies of rows that moved to another page when theirs was split or merged, in the unused middle of the old page. The log is
emptied. A small file is written anew; in a large one those middles are searched, and it is written anew where one holds what
must go."""

import mmap
import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from propagation.adapters.sqlite.rows import one

SMALL_BYTES = 32 << 20
PATIENCE_MS, BUSY_MS = 50, 30_000
LEAST_BYTES = 4
LOOKED_AT_ONCE = 64 << 20
TO_WIPE, TAKEN_BACK = "to_wipe", "taken_back"
# First byte of a b-tree page -> bytes of its header; an overflow or free page starts with the number of another page, below 2^24.
LENGTHS = np.zeros(256, np.int64)
LENGTHS[[2, 5, 10, 13]] = 12, 12, 8, 8
FILE_HEADER = 100


def forgotten_times(connection: sqlite3.Connection) -> int:
    """How often a client was forgotten whose traces in the file may still be there."""
    return one(connection, "SELECT value FROM progress WHERE name = ?", TO_WIPE) or 0


def taken_back_through(connection: sqlite3.Connection) -> int:
    """The sequence of the newest retraction or erasure."""
    return one(connection, "SELECT value FROM progress WHERE name = ?", TAKEN_BACK) or 0


def wiped(connection: sqlite3.Connection, times: int) -> None:
    """No trace is left of who had been forgotten by then; where it is more by now, it stays due."""
    connection.execute("DELETE FROM progress WHERE name = ? AND value = ?", (TO_WIPE, times))


def empty_log(connection: sqlite3.Connection) -> bool:
    """Everything of the write-ahead log into the file, and the log empty; False where a reader (a back-up, say) is not through
    yet. Hardly waits: commits stand still meanwhile. Outside of a transaction."""
    connection.execute(f"PRAGMA busy_timeout={PATIENCE_MS}")
    try:
        return not connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
    finally:
        connection.execute(f"PRAGMA busy_timeout={BUSY_MS}")


def write_anew(connection: sqlite3.Connection) -> None:
    """Outside of a transaction. Row numbers may be others then."""
    connection.execute("VACUUM")


def residue(path: Path, words: Sequence[bytes]) -> bool:
    """Whether the unused middle of a b-tree page holds one of the words of at least four bytes (shorter ones are anywhere). The
    log was empty a moment ago; what is written meanwhile holds none of them."""
    long = {word for word in words if len(word) >= LEAST_BYTES}
    long = {word for word in long if not any(other != word and other in word for other in long)}
    if not long:
        return False
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as pages:
        return any(pages.find(word, start, end) >= 0 for start, end in middles(pages) for word in long)


def middles(pages: mmap.mmap) -> Iterator[tuple[int, int]]:
    """Where the unused middle of each b-tree page begins and ends."""
    size = int.from_bytes(pages[16:18], "big")
    size = 65_536 if size == 1 else size
    for start in range(0, len(pages), LOOKED_AT_ONCE):
        yield from zip(*_middles_of(pages, start, min(LOOKED_AT_ONCE, len(pages) - start) // size, size), strict=True)
        _let_go(pages, start)


def _middles_of(pages: mmap.mmap, start: int, count: int, size: int) -> tuple[list[int], list[int]]:
    """Begins and ends of those of so many pages from a place on."""
    look = np.frombuffer(pages, np.uint8, count * size, start).reshape(count, size)
    heads, begin = look[:, :7].astype(np.int64), np.arange(start, start + count * size, size)
    end = begin.copy()
    if start == 0:
        heads[0] = look[0, FILE_HEADER : FILE_HEADER + 7]
        begin[0] = FILE_HEADER
    length = LENGTHS[heads[:, 0]]
    begin += length + 2 * (heads[:, 3] << 8 | heads[:, 4])
    content = heads[:, 5] << 8 | heads[:, 6]
    end += np.where(content == 0, 65_536, content)
    found = (length > 0) & (end - begin >= LEAST_BYTES)
    return begin[found].tolist(), end[found].tolist()


def _let_go(pages: mmap.mmap, start: int) -> None:
    """What was looked through counts as this process' memory no longer."""
    if hasattr(mmap, "MADV_DONTNEED"):
        pages.madvise(mmap.MADV_DONTNEED, start, LOOKED_AT_ONCE)
