"""Back-up of a database in use: SQLite's online copy of one snapshot, by another process.

The reader's transaction holds the snapshot while the copy proceeds in steps; the writer goes on
appending to its log. The service's lock is not taken: it guards against a second writer, and this
one reads.
"""

import os
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from propagation.adapters.sqlite.connection.atomic_file import made_in_place
from propagation.adapters.sqlite.connection.schema import (
    check_ours,
    connect,
    open_reader,
    translated,
)
from propagation.adapters.sqlite.maintenance.leftovers import drop_leftovers
from propagation.model.errors import PropagationError

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
