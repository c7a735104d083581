"""Commands of operators on a database file.

Back-up and export only read, and may run while a service holds the database. They do not take the
service's lock, which guards against a second writer. A back-up is SQLite's online copy of one
snapshot: a reader's transaction holds the snapshot while the copy proceeds in steps, and the
service's writer goes on appending to its log. All other commands take the lock.
"""

import os
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from propagation.adapters.sqlite.connection import (
    append_digest,
    check_ours,
    check_schema,
    connect,
    copy_checked,
    get_newest_version,
    hold_database,
    is_backup,
    open_file,
    open_reader,
    translate_errors,
)
from propagation.adapters.sqlite.maintenance.backup_list import note_backup
from propagation.adapters.sqlite.maintenance.consistency_check import (
    drop_leftovers,
    find_inconsistencies,
    list_leftovers,
)
from propagation.adapters.sqlite.maintenance.json_export import (
    OnProgress,
    read_export,
    write_export,
)
from propagation.atomic_file import (
    SIDE_FILES,
    drop_partial_files,
    list_partial_files,
    write_atomically,
)
from propagation.model import Backup, PropagationError, StoreBusy, StoreCorrupt

FOLD_MS = 5_000
PAGES_A_STEP = 1_024
# Each step is flushed to the disk, so that a service's commit waits for one step at most. Then the
# copy rests for this share of the time that the step took.
REST = 0.25
SQLITE_HEADER = b"SQLite format 3\0"


class SqliteFiles:
    """The commands on one database file, which need not be open.

    `progress` is always called with (done, all).
    """

    def __init__(self, database: Path) -> None:
        self._database = database

    def backup(self, target: Path, progress: OnProgress, *, replace: bool = False) -> int:
        """Copy the database as it is to `target`, with a digest.

        The back-up is then noted in the list of back-ups (backup_list.py).

        Args:
            progress: Called with (pages done, all pages).
            replace: Replace `target` if it exists.

        Returns:
            The size of the back-up in bytes.

        Raises:
            StoreCorrupt: The database is damaged.
            SchemaTooNew: A newer release wrote the database.
            PropagationError: `target` exists and may not be replaced, or is the database.
        """
        database = self._database
        if database.resolve() == target.resolve():
            raise PropagationError(f"{target} is the database itself; name another file")
        with translate_errors(database), write_atomically(target, replace=replace) as partial:
            with closing(open_reader(database)) as reader:
                check_ours(reader, database)
                reader.execute("BEGIN")
                reader.execute("SELECT count(*) FROM meta").fetchone()
                _copy_in_steps(reader, partial, progress)
            _settle(partial)
            append_digest(partial)
            size = partial.stat().st_size
        # The name of a file may be no text.
        name = os.fsencode(target.resolve()).decode("utf-8", "backslashreplace")
        made = Backup(time=time.time_ns() // 1_000_000, file=name, bytes=size)
        note_backup(database.resolve(), made)
        return size

    def export(self, target: Path, progress: OnProgress, *, replace: bool = False) -> int:
        """Export one snapshot of the database, which may be in use.

        Args:
            progress: Called with (rows done, all rows).
            replace: Replace `target` if it exists.

        Returns:
            How many rows were exported.

        Raises:
            StoreCorrupt: The database is damaged.
            SchemaTooNew: A newer release wrote the database.
            PropagationError: `target` exists and may not be replaced.
        """
        with (
            translate_errors(self._database),
            write_atomically(target, replace=replace) as partial,
            closing(open_reader(self._database)) as reader,
            partial.open("wb") as file,
        ):
            check_ours(reader, self._database)
            reader.execute("BEGIN")
            return write_export(reader, file, progress)

    def restore(self, source: Path, progress: OnProgress, *, replace: bool = False) -> None:
        """Check a back-up or an export, and replace the database by it.

        Raises:
            StoreBusy: A service holds the database.
            PropagationError: The database exists and may not be replaced.
            SchemaTooNew: A newer release wrote `source`.
            StoreCorrupt: `source` is not sound, or was changed after it was written.
            BrokenData: A line of an export cannot be read.
        """
        is_copy = is_backup(source)
        if not is_copy:
            with source.open("rb") as file:
                if file.read(len(SQLITE_HEADER)) == SQLITE_HEADER:
                    raise StoreCorrupt(
                        f"{source} has no digest at its end: it was cut short or changed, or"
                        " `propagation backup` did not write it; fetch it again, restore another"
                        " back-up, or, if it is the whole file of a stopped service, name it with"
                        " --database: nothing was replaced"
                    )
        with (
            translate_errors(source if is_copy else self._database),
            _replace_database(self._database, replace=replace) as partial,
        ):
            if is_copy:
                copy_checked(source, partial, progress)
                with closing(open_reader(partial)) as reader:
                    check_schema(reader, source)
                _settle(partial)
            else:
                with source.open("rb") as file, closing(connect(partial)) as new:
                    read_export(new, file, source, progress)
            _look_over(partial, source)

    def compact(self) -> tuple[int, int]:
        """Write the file anew without free pages.

        Returns:
            The size of the file before and after, in bytes.

        Raises:
            StoreBusy: A service holds the database.
            StoreFull: There is no room for both files.
        """
        database, before = self._database, self._database.stat().st_size
        with (
            translate_errors(database),
            _replace_database(database, replace=True) as partial,
            closing(connect(database)) as old,
        ):
            check_ours(old, database)
            old.execute("VACUUM INTO ?", (str(partial),))
        return before, database.stat().st_size

    def find_older_schema(self) -> int | None:
        """Return the schema version of a database that opening would migrate.

        Returns:
            The version; None if the schema is the newest.
        """
        with self._hold(open_reader) as reader:
            return _find_older_schema(reader)

    def list_leftovers(self) -> Sequence[str]:
        """Count the remains of killed processes.

        Returns:
            A phrase for each kind of remains, e.g. "2 claims of a process that is gone".

        Raises:
            StoreBusy: A service holds the database.
            StoreCorrupt: The file is no database of this service.
            SchemaTooNew: A newer release wrote the database.
        """
        with self._hold(open_reader) as reader:
            copies = [
                (
                    f"{path} ({path.stat().st_size >> 20:,} MiB), a copy that a killed command had "
                    "begun"
                )
                for path in list_partial_files(self._database)
            ]
            return [
                *(list_leftovers(reader) if _find_older_schema(reader) is None else ()),
                *copies,
            ]

    def drop_leftovers(self) -> None:
        """Remove the remains of killed processes; raise as `list_leftovers`."""
        with self._hold(connect) as connection:
            drop_leftovers(connection)
            drop_partial_files(self._database)

    @contextmanager
    def _hold(self, opening: Callable[[Path], sqlite3.Connection]) -> Iterator[sqlite3.Connection]:
        """Open the database for one command, and keep other processes out."""
        with (
            translate_errors(self._database),
            hold_database(self._database),
            closing(opening(self._database)) as connection,
        ):
            check_ours(connection, self._database)
            yield connection


def _find_older_schema(connection: sqlite3.Connection) -> int | None:
    """Return the schema version if opening would migrate it, else None."""
    schema = int(connection.execute("PRAGMA user_version").fetchone()[0])
    return schema if schema < get_newest_version() else None


def _settle(partial: Path) -> None:
    """Make a copy complete in one file.

    The leases, claims and staged rows of a running process are removed from it.
    """
    with closing(connect(partial)) as copy:
        copy.execute("PRAGMA journal_mode=DELETE")
        drop_leftovers(copy)


def _copy_in_steps(reader: sqlite3.Connection, partial: Path, progress: OnProgress) -> None:
    """Copy the reader's snapshot, slowly enough for a service beside it.

    Args:
        progress: Called with (pages done, all pages).
    """
    began = time.monotonic()

    def stepped(_: int, remaining: int, total: int) -> None:
        nonlocal began
        os.fdatasync(written)
        progress(total - remaining, total)
        time.sleep(REST * (time.monotonic() - began))
        began = time.monotonic()

    with partial.open("rb+") as written, closing(connect(partial)) as copy:
        copy.execute("PRAGMA journal_mode=OFF")
        copy.execute("PRAGMA synchronous=OFF")
        reader.backup(copy, pages=PAGES_A_STEP, progress=stepped)


@contextmanager
def _replace_database(database: Path, *, replace: bool) -> Iterator[Path]:
    """Yield a path for a database that takes the place of `database`.

    The old write-ahead log is folded into the old file first, because SQLite would replay a log
    that it finds beside the new file.

    Raises:
        StoreBusy: A service holds the database, or a program reads it, so that its log cannot be
            folded.
        StoreFull: There is no room.
        PropagationError: The database exists and may not be replaced.
    """
    database = database.resolve()
    with hold_database(database), write_atomically(database, replace=replace) as partial:
        _fold_log(database)  # first here, so that it fails before the work
        yield partial
        _fold_log(database)
        for end in SIDE_FILES:
            database.with_name(database.name + end).unlink(missing_ok=True)


def _look_over(partial: Path, source: Path) -> None:
    """Migrate a copy to this release's schema and check it.

    Raises:
        StoreCorrupt: The copy is not sound; the message names the first finding.
        SchemaTooNew: A newer release wrote the copy.
    """
    with closing(open_file(partial)) as migrated:
        migrated.execute("PRAGMA journal_mode=DELETE")
    with closing(open_reader(partial)) as reader:
        wrong = find_inconsistencies(reader, thorough=False)
    if wrong:
        raise StoreCorrupt(f"{source} is not sound: {wrong[0]}; nothing was replaced")


def _fold_log(database: Path) -> None:
    """Fold the write-ahead log into the file.

    The log of a damaged or foreign file is left alone, as there is nothing to save.

    Raises:
        StoreBusy: A program reads the file.
        StoreFull: There is no room.
    """
    if not database.exists():
        return
    with suppress(StoreCorrupt), translate_errors(database), closing(connect(database)) as old:
        old.execute(f"PRAGMA busy_timeout={FOLD_MS}")
        if old.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]:
            raise StoreBusy(
                f"{database}: another program reads it (an export, a back-up?), so that its log"
                " cannot be folded into it; wait for that program, then try again: nothing was"
                " replaced"
            )
