"""Commands of operators on a database file; those that only read it may run beside a service."""

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

from propagation.adapters.sqlite.connection.atomic_file import begun, drop_begun
from propagation.adapters.sqlite.connection.lock import held
from propagation.adapters.sqlite.connection.schema import (
    check_ours,
    connect,
    newest_version,
    open_reader,
    translated,
)
from propagation.adapters.sqlite.maintenance.file_copies import (
    OnProgress,
    backup,
    compact,
    restore,
)
from propagation.adapters.sqlite.maintenance.json_export import export, import_export
from propagation.adapters.sqlite.maintenance.leftovers import drop_leftovers, leftovers

SQLITE_HEADER = b"SQLite format 3\0"


class SqliteFiles:
    """One database, which need not be open; progress is (done, all)."""

    def __init__(self, database: Path) -> None:
        self._database = database

    def backup(self, target: Path, progress: OnProgress, *, replace: bool = False) -> int:
        """Back up to `target`; return its size in bytes.

        Raises:
            PropagationError: `target` exists.
        """
        return backup(self._database, target, progress, replace=replace)

    def export(self, target: Path, progress: OnProgress, *, replace: bool = False) -> int:
        """Export to `target`; return how many rows.

        Raises:
            PropagationError: `target` exists.
        """
        return export(self._database, target, progress, replace=replace)

    def restore(self, source: Path, progress: OnProgress, *, replace: bool = False) -> None:
        """Restore a back-up or an export, which differ in their first bytes.

        Raises:
            StoreBusy: A service holds the database.
            PropagationError: The database exists and may not be replaced.
            StoreCorrupt: `source` is not sound; BrokenData for an export.
        """
        with source.open("rb") as file:
            is_copy = file.read(len(SQLITE_HEADER)) == SQLITE_HEADER
        (restore if is_copy else import_export)(source, self._database, progress, replace=replace)

    def compact(self) -> tuple[int, int]:
        """Write the file anew; return its bytes before and after.

        Raises:
            StoreBusy: A service holds it.
            StoreFull: There is no room for both files.
        """
        return compact(self._database)

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
        try:
            with held(self._database), closing(opening(self._database)) as connection:
                check_ours(connection, self._database)
                yield connection
        except sqlite3.Error as error:
            raise translated(error, self._database) from error


def _older(connection: sqlite3.Connection) -> int | None:
    """Return the schema of a database that opening would migrate."""
    schema = int(connection.execute("PRAGMA user_version").fetchone()[0])
    return schema if schema < newest_version() else None
