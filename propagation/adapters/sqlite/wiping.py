"""What SQLite leaves of deleted rows, and how it goes.

`secure_delete` overwrites rows and pages with zeros as they are freed. What is left then are frames of the write-ahead log, and
copies of rows that moved to another page when theirs was split or merged, in the unused middle of the old page. The log is
emptied. A small file is written anew; in a large one those middles are overwritten with zeros, which SQLite never looks at."""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from functools import cache
from pathlib import Path

import numpy as np

from propagation.adapters.sqlite.file import connect
from propagation.adapters.sqlite.rows import one

SMALL_BYTES = 32 << 20
PATIENCE_MS, BUSY_MS = 50, 30_000
LOOKED_AT_ONCE = 16 << 20
OVERWRITTEN_AT_ONCE = 8_192
TO_WIPE, TAKEN_BACK, OVERWRITTEN = "to_wipe", "taken_back", "overwritten"
# First byte of a b-tree page -> bytes of its header; an overflow or free page starts with the number of another page, below 2^24
# (or, in a file beyond PAGES_TOLD_APART, one that may look like a header).
LENGTHS = np.zeros(256, np.int64)
LENGTHS[[2, 5, 10, 13]] = 12, 12, 8, 8
HEADER, MOST_FRAGMENTS = 8, 60
PAGES_TOLD_APART = 2 << 24
Pages = list[int]


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


def has_to_be_written_anew(handle: int) -> bool:
    """A small file, with which that is done in a moment; and one so large that a page's first byte does not tell what it is."""
    size = os.fstat(handle).st_size
    return size <= SMALL_BYTES or size // _size_of_pages(handle) >= PAGES_TOLD_APART


def remains(handle: int, start: int) -> tuple[Pages, int | None]:
    """(Numbers of b-tree pages, from a byte of the file on, whose unused middle holds anything; where to go on, None at the end.)
    The log was empty a moment ago: a page that is written meanwhile has in its middle what it had, or what is not to be erased."""
    size, end = _size_of_pages(handle), os.fstat(handle).st_size
    block, found = bytearray(LOOKED_AT_ONCE), Pages()
    while start < end:
        read = os.preadv(handle, [memoryview(block)[: min(LOOKED_AT_ONCE, end - start)]], start)
        found += [(start + first) // size for first, last in _middles(block, read // size, size)
                  if not block.startswith(_zeros(last - first), first, last)]
        start += LOOKED_AT_ONCE
        if len(found) >= OVERWRITTEN_AT_ONCE:
            break
    return found, start if start < end else None


def overwrite(path: Path, handle: int, pages: Pages, connection: sqlite3.Connection) -> bool:
    """Zeros into the unused middle of these pages; False where a reader keeps the log from being emptied. Outside of a transaction
    of `connection`, the writer's; nobody commits meanwhile. It is an ordinary commit of another connection that makes this one
    read the pages again, in whose memory they are as they were."""
    if not empty_log(connection):
        return False
    size = _size_of_pages(handle)
    with closing(connect(path)) as other:
        other.execute("BEGIN IMMEDIATE")
        if path.with_name(path.name + "-wal").stat().st_size:  # another program committed: its pages may go into the file meanwhile
            return False
        try:
            for number in pages:
                first, last = _middle(os.pread(handle, HEADER, number * size))
                if first < last <= size:
                    os.pwrite(handle, _zeros(last - first), number * size + first)
            os.fsync(handle)
            other.execute("INSERT INTO progress VALUES (?, 1) ON CONFLICT DO UPDATE SET value = value + 1", (OVERWRITTEN,))
            other.execute("COMMIT")
        except BaseException:
            connection.execute("PRAGMA shrink_memory")  # nothing was committed that would tell it
            raise
    return True


def _size_of_pages(handle: int) -> int:
    size = int.from_bytes(os.pread(handle, 2, 16), "big")
    return 65_536 if size == 1 else size


@cache
def _zeros(length: int) -> bytes:
    return bytes(length)


def _middle(head: bytes) -> tuple[int, int]:
    """As `_middles`, of a page that was one of those; it may have become another one, of which nothing is to be overwritten."""
    begin = int(LENGTHS[head[0]]) + 2 * int.from_bytes(head[3:5], "big")
    return begin, (int.from_bytes(head[5:7], "big") or 65_536) if LENGTHS[head[0]] and head[7] <= MOST_FRAGMENTS else begin


def _middles(block: bytearray, count: int, size: int) -> Iterator[tuple[int, int]]:
    """Where in a block of so many pages the unused middle of each b-tree page begins and ends; not of the file's first page,
    which begins otherwise and holds the schema."""
    look = np.frombuffer(block, np.uint8, count * size).reshape(count, size)
    heads, begin = look[:, :HEADER].astype(np.int64), np.arange(0, count * size, size)
    end = begin.copy()
    length = LENGTHS[heads[:, 0]]
    begin += length + 2 * (heads[:, 3] << 8 | heads[:, 4])
    content = heads[:, 5] << 8 | heads[:, 6]
    content = np.where(content == 0, 65_536, content)
    end += content
    found = (length > 0) & (end > begin) & (content <= size) & (heads[:, 7] <= MOST_FRAGMENTS)
    yield from zip(begin[found].tolist(), end[found].tolist(), strict=True)
