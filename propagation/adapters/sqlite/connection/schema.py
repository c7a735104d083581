"""The database file: its owner, its schema, its connections."""

import os
import sqlite3
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path
from typing import TypeVar

from propagation.adapters.sqlite.connection.backup_digest import is_backup
from propagation.adapters.sqlite.connection.client_words import find_search_words, renew_words
from propagation.model import (
    PropagationError,
    SchemaTooNew,
    StoreBusy,
    StoreCorrupt,
    StoreFull,
    derive_seed,
)

APPLICATION_ID = 0x50525032
# What a step does to rows, by the schema that it leads to. An export of an earlier schema needs it,
# too. The first marks clients that an event created: nothing was ever said of them, and an event
# that names them is of the entry's own commit, which takes milliseconds. What is kept of a
# retracted event has no time: it is taken to be of that commit if neither another entry nor a
# later event is between.
NAMES_CLIENT = (
    "EXISTS (SELECT 1 FROM log l JOIN interaction i ON i.{} = client.ref AND i.sequence >"
    " l.sequence AND i.at - l.at <= 20 WHERE l.sequence = client.sequence AND l.kind = 'clients')"
)
RETRACTED_NAMES_CLIENT = (
    "EXISTS (SELECT 1 FROM log l JOIN retracted r ON r.{} = client.ref AND r.sequence > l.sequence"
    " WHERE l.sequence = client.sequence AND l.kind = 'clients'"
    " AND NOT EXISTS (SELECT 1 FROM log m WHERE m.sequence > l.sequence AND m.sequence <"
    " r.sequence) AND NOT EXISTS (SELECT 1 FROM interaction i WHERE i.sequence > l.sequence AND"
    " i.sequence < r.sequence AND i.at - l.at > 20))"
)
# Nothing that is stored names it any more, and something was forgotten or retracted after it came.
NAMED_BY_NOTHING = (
    "("
    + "".join(
        f"NOT EXISTS (SELECT 1 FROM {table} e WHERE e.{column} = client.ref) AND "
        for table, column in (
            ("interaction", "user"),
            ("interaction", "item"),
            ("interaction", "negative"),
            ("retracted", "user"),
            ("retracted", "item"),
        )
    )
    + "EXISTS (SELECT 1 FROM log l WHERE l.kind IN ('erasure', 'retraction') AND l.kind <>"
    " 'clients' AND l.sequence > client.sequence))"
)
CREATED_BY_EVENT = " OR ".join(
    (
        *map(NAMES_CLIENT.format, ("user", "item", "negative")),
        *map(RETRACTED_NAMES_CLIENT.format, ("user", "item")),
        NAMED_BY_NOTHING,
    )
)
ROW_STEPS: Mapping[int, Sequence[str]] = {
    3: (
        "UPDATE client SET only_in_events = 1 WHERE title = '' AND description = '' AND"
        " attributes = '[]' AND categories = '[]' AND metadata = '{}' AND NOT hidden"
        " AND NOT EXISTS (SELECT 1 FROM client_before b WHERE b.ref = client.ref)"
        f" AND ({CREATED_BY_EVENT})",
        # Refs of clients that were erased before, beside those of others.
        "UPDATE log SET refs = (SELECT json_group_array(value) FROM json_each(log.refs) WHERE value"
        " IN (SELECT ref FROM client)) WHERE kind <> 'erasure' AND EXISTS (SELECT 1 FROM"
        " json_each(log.refs) WHERE value NOT IN (SELECT ref FROM client))",
    ),
}
NEW_COLUMNS: Mapping[int, Mapping[str, Sequence[str]]] = {
    3: {"client": ("only_in_events",)},
    4: {"dead_letter": ("attempts", "failed_at", "asked", "answered", "queued")},
}
"""Columns that a step adds at the end of tables, with a default."""
MIGRATIONS: tuple[str, ...] = (
    """
    CREATE TABLE client_word (
      kind INTEGER NOT NULL, word TEXT NOT NULL, ref INTEGER NOT NULL,
      PRIMARY KEY (kind, word, ref)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX log_operation ON log (sequence) WHERE kind <> 'clients';
    """,
    "ALTER TABLE client ADD COLUMN only_in_events INTEGER NOT NULL DEFAULT 0;"
    + "".join(f"\n{statement};" for statement in ROW_STEPS[3]),
    """
    ALTER TABLE dead_letter ADD COLUMN attempts INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE dead_letter ADD COLUMN failed_at INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE dead_letter ADD COLUMN asked TEXT NOT NULL DEFAULT '';
    ALTER TABLE dead_letter ADD COLUMN answered TEXT NOT NULL DEFAULT '';
    ALTER TABLE dead_letter ADD COLUMN queued INTEGER NOT NULL DEFAULT 0;
    CREATE INDEX dead_letter_queued ON dead_letter (sequence) WHERE queued;
    """,
)
"""The SQL that leads from schema 1 to 2, from 2 to 3 and so on.

schema.sql has the newest schema. `renew_words` fills client_word.
"""
# A start can check a file of this size within a second; `propagation doctor` checks larger files.
CHECKED_AT_START_BYTES = 256 << 20
PATIENCE_SECONDS = 30.0
ERRORS: Sequence[tuple[Collection[int], type[PropagationError], str]] = (
    (
        (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR),
        StoreFull,
        "free space, then try again: nothing was written",
    ),
    (
        (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB),
        StoreCorrupt,
        "restore it from a back-up",
    ),
    ((sqlite3.SQLITE_BUSY,), StoreBusy, "another program has it open"),
    (
        (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM),
        PropagationError,
        "check that the file and its folder may be written, and that this process may open more"
        " files (ulimit -n)",
    ),
)
"""SQLite's codes, our error for them, and the remedy."""
# Of a damaged file, SQLite's own message may be no UTF-8, which Python raises instead of the error.
FAILURES = (sqlite3.Error, UnicodeDecodeError)
T = TypeVar("T")
# A reader's cache is small: it becomes invalid with each commit of the writer.
WRITER_CACHE_KIB, READER_CACHE_KIB = 32_768, 4_096
WRITER_SETTINGS = (
    "journal_mode=WAL",
    "synchronous=FULL",
    "secure_delete=ON",
    f"cache_size=-{WRITER_CACHE_KIB}",
    "wal_autocheckpoint=16000",  # pages
    f"journal_size_limit={64 << 20}",  # bytes
)


def open_file(path: Path) -> sqlite3.Connection:
    """Open the writing connection on an existing file, which may be empty.

    Raises:
        StoreCorrupt: The file is damaged, or another program's.
        SchemaTooNew: A newer release wrote the file.
    """
    connection = connect(path)
    try:
        # Another program's file must stay as it is, its journal mode included.
        is_empty = not connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]
        if not is_empty:
            check_ours(connection, path)
        _check_pages(connection, path)
        for setting in WRITER_SETTINGS:
            connection.execute(f"PRAGMA {setting}")
        if is_empty:
            create_tables(connection)
            connection.execute("INSERT INTO progress VALUES ('texts_forgotten', 0)")
        else:
            migrate(connection)
        renew_words(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def make_file(path: Path) -> None:
    """Create an empty file for this user alone, if none exists.

    Raises:
        PropagationError: The folder does not exist, or may not be written.
    """
    if path.exists():
        return
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
    except OSError as error:
        raise PropagationError(
            f"database {path} cannot be created ({error.strerror}); name a file in a folder that"
            " exists and may be written"
        ) from error


def _check_pages(connection: sqlite3.Connection, path: Path) -> None:
    """Check the pages of a file, unless it is too large.

    Raises:
        StoreCorrupt: The pages are damaged.
    """
    if path.stat().st_size <= CHECKED_AT_START_BYTES:
        found = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
        if found != "ok":
            raise StoreCorrupt(
                f"{path} is damaged ({' '.join(found.split())}); restore it from a back-up"
            )


def open_reader(path: Path, patience_seconds: float = PATIENCE_SECONDS) -> sqlite3.Connection:
    """Open a read connection, which waits while the file is locked.

    Args:
        patience_seconds: How long a statement waits at most.
    """
    connection = connect(path, patience_seconds)
    try:
        connection.execute("PRAGMA query_only=ON")
        connection.execute(f"PRAGMA cache_size=-{READER_CACHE_KIB}")
    except BaseException:
        connection.close()
        raise
    return connection


class ReadConnection:
    """Runs reads one at a time on one connection.

    The first read opens the connection.
    """

    def __init__(self, path: Path, patience_seconds: float = PATIENCE_SECONDS) -> None:
        self._path = path
        self._patience_seconds = patience_seconds
        self._connection: sqlite3.Connection | None = None

    def read(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Run `work` on one snapshot of the file; return its result."""
        try:
            if self._connection is None:
                self._connection = open_reader(self._path, self._patience_seconds)
            self._connection.execute("BEGIN")
            try:
                return work(self._connection)
            finally:
                self._connection.execute("ROLLBACK")
        except FAILURES as error:
            raise translate_error(error, self._path) from error

    def close(self) -> None:
        """Close the connection, if there is one."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def connect(path: Path, patience_seconds: float = PATIENCE_SECONDS) -> sqlite3.Connection:
    """Open a connection, with SQL functions of our own.

    SQLite's own `lower` folds ASCII letters only, so there is `casefold`. `search_words`
    takes four columns of a client, and returns a JSON array. `derive_seed` takes an event id.
    """
    connection = sqlite3.connect(
        path, isolation_level=None, check_same_thread=False, timeout=patience_seconds
    )
    connection.create_function("casefold", 1, str.casefold, deterministic=True)
    connection.create_function("derive_seed", 1, derive_seed, deterministic=True)
    connection.create_function("search_words", 4, find_search_words, deterministic=True)
    return connection


def check_ours(connection: sqlite3.Connection, path: Path) -> None:
    """Check that this release can read a file as its database.

    Raises:
        StoreCorrupt, SchemaTooNew: As `check_schema`.
        PropagationError: The file is a back-up.
    """
    if is_backup(path):
        raise PropagationError(
            f"{path} is a back-up; check it and make a database of it with `propagation restore"
            f" {path} --database OTHER`"
        )
    check_schema(connection, path)


def check_schema(connection: sqlite3.Connection, path: Path) -> None:
    """Check that a database has a schema that this release knows.

    Raises:
        StoreCorrupt: The database is another program's, or damaged.
        SchemaTooNew: A newer release wrote the database.
    """
    with translate_errors(path):
        application = connection.execute("PRAGMA application_id").fetchone()[0]
        version = connection.execute("PRAGMA user_version").fetchone()[0]
    if application != APPLICATION_ID:
        raise StoreCorrupt(
            f"{path} is another program's database; name a file of your own with --database"
        )
    if version > get_newest_version():
        raise SchemaTooNew(
            f"{path} has schema {version}, this release knows up to {get_newest_version()};"
            " upgrade the service"
        )
    if version < 1:
        raise StoreCorrupt(
            f"{path} says that its schema is {version}, which does not exist; restore it from a"
            " back-up"
        )


def get_newest_version() -> int:
    """Return the schema version of this release."""
    return 1 + len(MIGRATIONS)


def create_tables(connection: sqlite3.Connection) -> None:
    """Make the tables of this release in an empty database."""
    _run_script(connection, files("propagation.adapters.sqlite").joinpath("schema.sql").read_text())


def migrate(connection: sqlite3.Connection) -> None:
    """Bring a database to the schema of this release, in one transaction."""
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    if version < get_newest_version():
        _run_script(connection, "\n".join(MIGRATIONS[version - 1 :]))


def _run_script(connection: sqlite3.Connection, script: str) -> None:
    """Run all statements that lead to the newest schema.

    If a statement fails, closing the connection undoes all of them.
    """
    connection.executescript(
        f"BEGIN IMMEDIATE;\n{script}\nPRAGMA application_id={APPLICATION_ID};\n"
        f"PRAGMA user_version={get_newest_version()};\nCOMMIT;"
    )


@contextmanager
def translate_errors(path: Path) -> Iterator[None]:
    """Translate SQLite's errors in the body into ours."""
    try:
        yield
    except FAILURES as error:
        raise translate_error(error, path) from error


def translate_error(error: BaseException, path: Path) -> BaseException:
    """Return SQLite's error as ours; any other error as it is."""
    if isinstance(error, UnicodeDecodeError):
        return StoreCorrupt(f"{path}: it holds text that is no UTF-8; restore it from a back-up")
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    for codes, kind, advice in ERRORS:
        if code in codes:
            return kind(f"{path}: {error}; {advice}")
    return error
