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
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from propagation.adapters.sqlite.connection.atomic_file import BESIDE, made_in_place
from propagation.adapters.sqlite.connection.lock import held
from propagation.adapters.sqlite.connection.schema import (
    connect,
    errors_translated,
    open_file,
    open_reader,
)
from propagation.adapters.sqlite.maintenance.consistency_check import drop_leftovers, findings
from propagation.model import StoreBusy, StoreCorrupt

FOLD_MS = 5_000
PAGES_A_STEP = 1_024
# After each step the disk has what was copied, so that a service's commit never waits for more than
# that behind it.
REST = 0.25
OnProgress = Callable[[int, int], None]


def settle(partial: Path) -> None:
    """Make a copy stand alone: one file, without what a running process held or had begun."""
    with closing(connect(partial)) as copy:
        copy.execute("PRAGMA journal_mode=DELETE")
        copy.execute("BEGIN IMMEDIATE")
        drop_leftovers(copy)
        copy.execute("COMMIT")


def copy_beside_service(reader: sqlite3.Connection, partial: Path, progress: OnProgress) -> None:
    """Copy what a reader sees, at a pace that leaves a service its disk."""
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


def _fold_log(database: Path) -> None:
    """Fold the write-ahead log into the file; a damaged or foreign file has nothing to save.

    Raises:
        StoreBusy: A program reads it.
        StoreFull: There is no room.
    """
    if not database.exists():
        return
    with suppress(StoreCorrupt), errors_translated(database), closing(connect(database)) as old:
        old.execute(f"PRAGMA busy_timeout={FOLD_MS}")
        if old.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]:
            raise StoreBusy(
                f"{database}: another program reads it (an export, a back-up?), so that its log "
                "cannot be folded into it;"
                " wait for that program, then try again: nothing was replaced"
            )
