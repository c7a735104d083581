"""Commands of operators on a database file; those that only read it may run beside a service."""

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

from propagation.adapters.sqlite.connection.atomic_file import begun, drop_begun, made_in_place
from propagation.adapters.sqlite.connection.lock import held
from propagation.adapters.sqlite.connection.schema import (
    check_ours,
    connect,
    errors_translated,
    newest_version,
    open_reader,
)
from propagation.adapters.sqlite.maintenance.consistency_check import drop_leftovers, leftovers
from propagation.adapters.sqlite.maintenance.file_copies import (
    PAGES_A_STEP,
    OnProgress,
    copy_beside_service,
    in_place_of,
    look_over,
    settle,
)
from propagation.adapters.sqlite.maintenance.json_export import read_export, write_export
from propagation.model import PropagationError

SQLITE_HEADER = b"SQLite format 3\0"


class SqliteFiles:
    """One database, which need not be open; progress is (done, all)."""

    def __init__(self, database: Path) -> None:
        self._database = database

    def backup(self, target: Path, progress: OnProgress, *, replace: bool = False) -> int:
        """Copy the database as it is now to `target`; return its size in bytes.

        Args:
            progress: Called with (pages done, all pages).

        Raises:
            StoreCorrupt: It is damaged.
            SchemaTooNew: A newer release wrote it.
            PropagationError: `target` exists.
        """
        database = self._database
        if database.resolve() == target.resolve():
            raise PropagationError(f"{target} is the database itself; name another file")
        with errors_translated(database), made_in_place(target, replace=replace) as partial:
            with closing(open_reader(database)) as reader:
                check_ours(reader, database)
                reader.execute("BEGIN")
                reader.execute("SELECT count(*) FROM meta").fetchone()
                copy_beside_service(reader, partial, progress)
            settle(partial)
            return partial.stat().st_size

    def export(self, target: Path, progress: OnProgress, *, replace: bool = False) -> int:
        """Export one snapshot of the database, which may be in use; return how many rows.

        Raises:
            StoreCorrupt: It is damaged.
            SchemaTooNew: A newer release wrote it.
            PropagationError: `target` exists.
        """
        with (
            errors_translated(self._database),
            made_in_place(target, replace=replace) as partial,
            closing(open_reader(self._database)) as reader,
            partial.open("wb") as file,
        ):
            check_ours(reader, self._database)
            reader.execute("BEGIN")
            return write_export(reader, file, progress)

    def restore(self, source: Path, progress: OnProgress, *, replace: bool = False) -> None:
        """Check a back-up or an export, and put it in the place of the database.

        They differ in their first bytes.

        Raises:
            StoreBusy: A service holds the database.
            PropagationError: The database exists and may not be replaced.
            SchemaTooNew: A newer release wrote `source`.
            StoreCorrupt: `source` is not sound.
            BrokenData: A line of an export cannot be read.
        """
        with source.open("rb") as file:
            is_copy = file.read(len(SQLITE_HEADER)) == SQLITE_HEADER
        with (
            errors_translated(source if is_copy else self._database),
            in_place_of(self._database, replace=replace) as partial,
        ):
            if is_copy:
                with closing(open_reader(source)) as reader, closing(connect(partial)) as new:
                    check_ours(reader, source)
                    reader.backup(
                        new,
                        pages=PAGES_A_STEP,
                        progress=lambda _, left, total: progress(total - left, total),
                    )
                settle(partial)
            else:
                with source.open("rb") as file, closing(connect(partial)) as new:
                    read_export(new, file, source, progress)
            look_over(partial, source)

    def compact(self) -> tuple[int, int]:
        """Write the file anew without free pages; return its bytes before and after.

        Raises:
            StoreBusy: A service holds it.
            StoreFull: There is no room for both files.
        """
        database, before = self._database, self._database.stat().st_size
        with (
            errors_translated(database),
            in_place_of(database, replace=True) as partial,
            closing(connect(database)) as old,
        ):
            check_ours(old, database)
            old.execute("VACUUM INTO ?", (str(partial),))
        return before, database.stat().st_size

    def older(self) -> int | None:
        """Return the schema of a database that opening would migrate; None if it would not."""
        with self._held(open_reader) as reader:
            return _older(reader)

    def leftovers(self) -> Sequence[str]:
        """Count what killed processes left behind.

        Raises:
            StoreBusy: A service holds the database.
            StoreCorrupt: It is no database of this service.
            SchemaTooNew: A newer release wrote it.
        """
        with self._held(open_reader) as reader:
            copies = [
                (
                    f"{path} ({path.stat().st_size >> 20:,} MiB), a copy that a killed command had "
                    "begun"
                )
                for path in begun(self._database)
            ]
            return [*(leftovers(reader) if _older(reader) is None else ()), *copies]

    def drop_leftovers(self) -> None:
        """Remove what killed processes left behind; raises as `leftovers`."""
        with self._held(connect) as connection:
            connection.execute("BEGIN IMMEDIATE")
            drop_leftovers(connection)
            connection.execute("COMMIT")
            drop_begun(self._database)

    @contextmanager
    def _held(self, opening: Callable[[Path], sqlite3.Connection]) -> Iterator[sqlite3.Connection]:
        with (
            errors_translated(self._database),
            held(self._database),
            closing(opening(self._database)) as connection,
        ):
            check_ours(connection, self._database)
            yield connection


def _older(connection: sqlite3.Connection) -> int | None:
    """Return the schema of a database that opening would migrate."""
    schema = int(connection.execute("PRAGMA user_version").fetchone()[0])
    return schema if schema < newest_version() else None
