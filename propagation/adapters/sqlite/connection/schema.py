"""The database file: who may hold it, whose it is, and which schema it has."""

import os
import sqlite3
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import TypeVar

from propagation.model.errors import (
    PropagationError,
    SchemaTooNew,
    StoreBusy,
    StoreCorrupt,
    StoreFull,
)

APPLICATION_ID = 0x50525031
CHECKPOINT_PAGES = 16_000
WAL_KEPT_BYTES = 64 << 20
# What a start can look through within a second; of a larger file `propagation doctor` does it.
CHECKED_AT_START_BYTES = 256 << 20
T = TypeVar("T")
# A reader starts anew after each commit of the writer: what it keeps is for one question.
WRITER_CACHE_KIB, READER_CACHE_KIB = 32_768, 4_096


def open_file(path: Path, max_bytes: int | None) -> sqlite3.Connection:
    """The writing connection: the file made for this user alone, known to be ours, migrated. Raises
    StoreCorrupt, SchemaTooNew."""
    make_file(path)
    connection = connect(path)
    try:
        _check_owner(connection, path)
        _check_pages(connection, path)
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=FULL")
        connection.execute("PRAGMA secure_delete=ON")
        connection.execute(f"PRAGMA cache_size=-{WRITER_CACHE_KIB}")
        connection.execute(f"PRAGMA wal_autocheckpoint={CHECKPOINT_PAGES}")
        connection.execute(f"PRAGMA journal_size_limit={WAL_KEPT_BYTES}")
        if max_bytes is not None:
            page = connection.execute("PRAGMA page_size").fetchone()[0]
            connection.execute(f"PRAGMA max_page_count={max(max_bytes // page, 1)}")
        migrate(connection, path)
    except BaseException:
        connection.close()
        raise
    return connection


def make_file(path: Path) -> None:
    """Where there is none, an empty one that is this user's alone."""
    if not path.exists():
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))


def _check_pages(connection: sqlite3.Connection, path: Path) -> None:
    """Damage is found before anything is acknowledged. Raises StoreCorrupt."""
    if path.stat().st_size <= CHECKED_AT_START_BYTES:
        found = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
        if found != "ok":
            raise StoreCorrupt(
                f"{path} is damaged ({' '.join(found.split())}); restore it from a back-up"
            )


def open_reader(path: Path) -> sqlite3.Connection:
    connection = connect(path)
    connection.execute("PRAGMA query_only=ON")
    connection.execute(f"PRAGMA cache_size=-{READER_CACHE_KIB}")
    return connection


def in_snapshot(connection: sqlite3.Connection, work: Callable[[sqlite3.Connection], T]) -> T:
    """Run `work`, which only reads, on one state of the file."""
    connection.execute("BEGIN")
    try:
        return work(connection)
    finally:
        connection.execute("ROLLBACK")


def connect(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=30)


def _check_owner(connection: sqlite3.Connection, path: Path) -> None:
    """Nothing is written to a file that is not ours, not even its journal mode."""
    tables = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]
    application = connection.execute("PRAGMA application_id").fetchone()[0]
    if tables and application != APPLICATION_ID:
        raise StoreCorrupt(
            f"{path} is another program's database; name a file of your own with --database"
        )


def migrations() -> list[tuple[int, str]]:
    """(schema version it leads to, SQL), ascending: migrations/NNNN_what.sql."""
    folder = files("propagation.adapters.sqlite").joinpath("migrations")
    found = [
        (int(file.name[:4]), file.read_text())
        for file in folder.iterdir()
        if file.name.endswith(".sql")
    ]
    return sorted(found)


def migrate(connection: sqlite3.Connection, path: Path) -> None:
    """All missing migrations in one transaction: the file has its old schema or the newest one,
    never one between."""
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    steps = migrations()
    newest = steps[-1][0]
    if version > newest:
        raise SchemaTooNew(
            f"{path} has schema {version}, this release knows up to {newest}; upgrade the service"
        )
    if version == newest:
        return
    if version < 0:
        raise StoreCorrupt(
            f"{path} says that its schema is {version}, which none is; restore it from a back-up"
        )
    script = "\n".join(sql for number, sql in steps if number > version)
    try:
        connection.executescript(
            f"BEGIN IMMEDIATE;\n{script}\nPRAGMA application_id={APPLICATION_ID};\n"
            f"PRAGMA user_version={newest};\nCOMMIT;"
        )
    except sqlite3.Error:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def translated(error: BaseException, path: Path) -> BaseException:
    """SQLite's error as ours; anything else as it is."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR):
        return StoreFull(f"{path}: {error}; free space, then try again: nothing was written")
    if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
        return StoreCorrupt(f"{path}: {error}; restore it from a back-up")
    if code == sqlite3.SQLITE_BUSY:
        return StoreBusy(f"{path}: {error}; another program has it open")
    if code in (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM):
        return PropagationError(
            f"{path}: {error}; check that the file and its folder may be written, and that this process may"
            " open more files (ulimit -n)"
        )
    return error
