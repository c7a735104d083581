"""The log that SQLite writes before its file: emptied, and read for the pages in it
(https://sqlite.org/fileformat2.html, section 4)."""

import sqlite3
from pathlib import Path

import numpy as np

PATIENCE_MS, BUSY_MS = 50, 30_000
HEADER, FRAME_HEADER, SALT = 32, 24, 8


def empty_log(connection: sqlite3.Connection) -> bool:
    """Everything of the write-ahead log into the file, and the log empty; False where a reader (a
    back-up, say) is not through yet. Hardly waits: commits stand still meanwhile. Outside of a
    transaction."""
    connection.execute(f"PRAGMA busy_timeout={PATIENCE_MS}")
    try:
        return not connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
    finally:
        connection.execute(f"PRAGMA busy_timeout={BUSY_MS}")


def log_of(path: Path) -> Path:
    """Of a database file that is open."""
    return path.with_name(path.name + "-wal")


def salt_of(path: Path) -> bytes:
    """Which log this is: each that is begun has its own, and so has one that is written from its
    start again. b"" of an empty one."""
    with log_of(path).open("rb") as log:
        return log.read(HEADER)[16:20]


def pages_in(path: Path, size: int) -> set[int]:
    """Numbers, from 0, of the pages in it, each of so many bytes; also of a transaction that did
    not end."""
    log = log_of(path).read_bytes()
    salt, frame = log[16:20], FRAME_HEADER + size
    count = max(len(log) - HEADER, 0) // frame
    if not count:
        return set()
    heads = np.frombuffer(log, np.uint8, count * frame, HEADER).reshape(count, frame)
    ours = (heads[:, SALT : SALT + 4] == np.frombuffer(salt, np.uint8)).all(axis=1)
    return set((heads[ours, :4].copy().view(">u4").ravel() - 1).tolist())
