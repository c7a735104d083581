"""Copies of a whole database: back-ups, and files that take a database's place.

A back-up is SQLite's online copy of one snapshot, made by another process while a service runs. The
reader's transaction holds the snapshot while the copy proceeds in steps; the writer goes on
appending to its log. The service's lock is not taken: it guards against a second writer, and this
process reads. What is restored, imported or compacted replaces a database, which takes the lock.
"""

import os
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from propagation.adapters.sqlite.connection.atomic_file import BESIDE, made_in_place
from propagation.adapters.sqlite.connection.lock import held
from propagation.adapters.sqlite.connection.schema import (
    check_ours,
    connect,
    open_file,
    open_reader,
    translated,
)
from propagation.adapters.sqlite.maintenance.consistency_check import findings
from propagation.adapters.sqlite.maintenance.leftovers import drop_leftovers
from propagation.model import PropagationError, StoreBusy, StoreCorrupt

PAGES_A_STEP = 1_024
# After each step the disk has what was copied, so that a service's commit never waits for more than
# that behind it.
REST = 0.25
OnProgress = Callable[[int, int], None]


def backup(source: Path, target: Path, progress: OnProgress, *, replace: bool = False) -> int:
    """Copy a database as it is now to `target`; return its size in bytes.

    Args:
        progress: Called with (pages done, all pages).

    Raises:
        StoreCorrupt: It is damaged.
        SchemaTooNew: A newer release wrote it.
        PropagationError: `target` exists.
    """
    if source.resolve() == target.resolve():
        raise PropagationError(f"{target} is the database itself; name another file")
    try:
        with made_in_place(target, replace=replace) as partial:
            with closing(open_reader(source)) as reader:
                check_ours(reader, source)
                reader.execute("BEGIN")
                reader.execute("SELECT count(*) FROM meta").fetchone()
                _copy(reader, partial, progress)
            settle(partial)
            return partial.stat().st_size
    except sqlite3.Error as error:
        raise translated(error, source) from error


def settle(partial: Path) -> None:
    """Make a copy stand alone: one file, without what a running process held or had begun."""
    with closing(connect(partial)) as copy:
        copy.execute("PRAGMA journal_mode=DELETE")
        copy.execute("BEGIN IMMEDIATE")
        drop_leftovers(copy)
        copy.execute("COMMIT")


def _copy(reader: sqlite3.Connection, partial: Path, progress: OnProgress) -> None:
    written = os.open(partial, os.O_RDWR)
    began = time.monotonic()

    def stepped(_: int, remaining: int, total: int) -> None:
        nonlocal began
        os.fdatasync(written)
        progress(total - remaining, total)
        time.sleep(REST * (time.monotonic() - began))
        began = time.monotonic()

    try:
        with closing(connect(partial)) as copy:
            copy.execute("PRAGMA journal_mode=OFF")
            copy.execute("PRAGMA synchronous=OFF")
            reader.backup(copy, pages=PAGES_A_STEP, progress=stepped)
    finally:
        os.close(written)


FOLD_MS = 5_000


@contextmanager
def in_place_of(database: Path, *, replace: bool) -> Iterator[Path]:
    """Yield a path for a database that takes the place of `database`.

    The old write-ahead log is folded into the old file first: beside the new file, SQLite would
    replay it.

    Raises:
        StoreBusy: A service holds it, or a program reads it, so that its log cannot be folded.
        StoreFull: There is no room.
        PropagationError: The database exists and may not be replaced.
    """
    database = database.resolve()
    with held(database), made_in_place(database, replace=replace) as partial:
        _fold_log(database)  # what keeps it from that is told before the work
        yield partial
        _fold_log(database)
        for end in BESIDE:
            database.with_name(database.name + end).unlink(missing_ok=True)


def restore(copy: Path, database: Path, progress: OnProgress, *, replace: bool = False) -> None:
    """Check a back-up and put it in the place of the database.

    Raises:
        StoreCorrupt: It is not sound.
        SchemaTooNew: A newer release wrote it.
        StoreBusy: A service holds the database.
        PropagationError: The database exists and may not be replaced.
    """
    try:
        with in_place_of(database, replace=replace) as partial:
            with closing(open_reader(copy)) as reader, closing(connect(partial)) as new:
                check_ours(reader, copy)
                reader.backup(
                    new,
                    pages=PAGES_A_STEP,
                    progress=lambda _, left, total: progress(total - left, total),
                )
            settle(partial)
            look_over(partial, copy)
    except sqlite3.Error as error:
        raise translated(error, copy) from error


def look_over(partial: Path, source: Path) -> None:
    """Migrate a copy to this release's schema and check it.

    Raises:
        StoreCorrupt: It is not sound; names the first finding.
        SchemaTooNew: A newer release wrote it.
    """
    with closing(open_file(partial, None)) as migrated:
        migrated.execute("PRAGMA journal_mode=DELETE")
    with closing(open_reader(partial)) as reader:
        wrong = findings(reader, thorough=False)
    if wrong:
        raise StoreCorrupt(f"{source} is not sound: {wrong[0]}; nothing was replaced")


def compact(database: Path) -> tuple[int, int]:
    """Write the file anew without free pages; return its bytes before and after.

    Raises:
        StoreBusy: A service holds it.
        StoreFull: There is no room for both files.
    """
    before = database.stat().st_size
    try:
        with in_place_of(database, replace=True) as partial, closing(connect(database)) as old:
            check_ours(old, database)
            old.execute("VACUUM INTO ?", (str(partial),))
    except sqlite3.Error as error:
        raise translated(error, database) from error
    return before, database.stat().st_size


def _fold_log(database: Path) -> None:
    """Fold the write-ahead log into the file; a damaged or foreign file has nothing to save.

    Raises:
        StoreBusy: A program reads it.
        StoreFull: There is no room.
    """
    if not database.exists():
        return
    try:
        with closing(connect(database)) as old:
            old.execute(f"PRAGMA busy_timeout={FOLD_MS}")
            busy = old.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
    except sqlite3.Error as error:
        told = translated(error, database)
        if isinstance(told, StoreCorrupt):
            return
        raise told from error
    if busy:
        raise StoreBusy(
            f"{database}: another program reads it (an export, a back-up?), so that its log "
            "cannot be folded into it;"
            " wait for that program, then try again: nothing was replaced"
        )
