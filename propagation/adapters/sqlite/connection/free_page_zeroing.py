"""The unused middle of b-tree pages, where copies of rows stay that moved to another page: found,
and overwritten with zeros, which SQLite never looks at (https://sqlite.org/fileformat2.html,
section 1.6)."""

import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

import numpy as np

from propagation.adapters.sqlite.connection.schema import connect
from propagation.adapters.sqlite.connection.write_ahead_log import (
    empty_log,
    log_of,
    pages_in,
    salt_of,
)

LOOKED_AT_ONCE = 16 << 20
OVERWRITTEN_AT_ONCE = 24_576
OVERWRITTEN = "overwritten"
# First byte of a b-tree page -> bytes of its header; an overflow or free page starts with the
# number of another page, below 2^24 (or, in a file beyond PAGES_TOLD_APART, one that may look like
# a header).
LENGTHS = np.zeros(256, np.int64)
LENGTHS[[2, 5, 10, 13]] = 12, 12, 8, 8
HEADER, MOST_FRAGMENTS = 8, 60
PAGES_TOLD_APART = 2 << 24
ZEROS = bytes(65_536)


class Middles:
    """Of one large file, while commits go on. A page's content may move to another number
    meanwhile: pages that were written since the first were looked at are overwritten too."""

    def __init__(self, path: Path, handle: int) -> None:
        self._path = path
        self._handle = handle
        self._size = size_of_pages(handle)
        self._salt = b""
        self._written: set[int] = set()
        self._unknown = False

    def begin(self, connection: sqlite3.Connection) -> bool:
        """What is written from now on is known. As `overwrite`."""
        began = self.overwrite((), connection)
        self._written, self._unknown = set(), False
        return began

    def found(self, start: int) -> tuple[list[int], int | None]:
        """(B-tree pages by number from 0, from a byte of the file on, whose unused middle holds
        anything; where to go on, None at the end.)"""
        end = os.fstat(self._handle).st_size
        block, found = bytearray(LOOKED_AT_ONCE), list[int]()
        while start < end:
            read = os.preadv(
                self._handle, [memoryview(block)[: min(LOOKED_AT_ONCE, end - start)]], start
            )
            for first, last in _middles(block, read // self._size, self._size):
                if not block.startswith(ZEROS[: last - first], first, last):
                    found.append((start + first) // self._size)
            start += LOOKED_AT_ONCE
            if len(found) >= OVERWRITTEN_AT_ONCE:
                break
        return found, start if start < end else None

    def overwrite(self, pages: Sequence[int] | None, connection: sqlite3.Connection) -> bool:
        """Zeros into the unused middle of these pages, None of all that were written since it
        began; False where a reader keeps the log from being emptied. Outside of a transaction of
        `connection`, the writer's; nobody commits meanwhile. It is an ordinary commit of another
        connection that makes this one read the pages again, in whose memory they are as they were.
        """
        self._unknown |= salt_of(self._path) != self._salt
        self._written |= pages_in(self._path, self._size)
        if not empty_log(connection):
            return False
        with closing(connect(self._path)) as other:
            other.execute("BEGIN IMMEDIATE")
            if (
                log_of(self._path).stat().st_size
            ):  # another program committed: its pages may go into the file meanwhile
                return False
            try:
                self._put_zeros(sorted(self._written) if pages is None else pages)
                other.execute(
                    "INSERT INTO progress VALUES (?, 1) ON CONFLICT DO UPDATE SET value = value + 1",
                    (OVERWRITTEN,),
                )
                other.execute("COMMIT")
            except BaseException:
                connection.execute(
                    "PRAGMA shrink_memory"
                )  # nothing was committed that would tell it
                raise
            self._salt = salt_of(self._path)
        return True

    @property
    def complete(self) -> bool:
        """Whether it is known which pages were written since it began: the log was begun anew by
        nobody else."""
        return not self._unknown

    def _put_zeros(self, pages: Sequence[int]) -> None:
        for (
            number
        ) in pages:  # each may have been written since it was looked at, also by another program
            head = os.pread(self._handle, HEADER, number * self._size)
            first, last = (
                _middle(head) if len(head) == HEADER else (0, 0)
            )  # the file may have become shorter
            if first < last <= self._size:
                os.pwrite(self._handle, ZEROS[: last - first], number * self._size + first)
        if pages:
            os.fsync(self._handle)


def size_of_pages(handle: int) -> int:
    """Bytes."""
    size = int.from_bytes(os.pread(handle, 2, 16), "big")
    return 65_536 if size == 1 else size


def _middle(head: bytes) -> tuple[int, int]:
    """As `_middles`, of a page that was one of those; it may have become another one, of which
    nothing is to be overwritten."""
    begin = int(LENGTHS[head[0]]) + 2 * int.from_bytes(head[3:5], "big")
    return begin, (int.from_bytes(head[5:7], "big") or 65_536) if LENGTHS[head[0]] and head[
        7
    ] <= MOST_FRAGMENTS else begin


def _middles(block: bytearray, count: int, size: int) -> Iterator[tuple[int, int]]:
    """Where in a block of so many pages the unused middle of each b-tree page begins and ends; not
    of the file's first page, which begins otherwise and holds the schema."""
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
