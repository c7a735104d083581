"""`propagation backup`, `restore`, `export` and `compact`: the database as a whole."""

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from services.cli.database_access import database_in_file, with_store
from services.cli.options import AsJson, Assignments, Config, Database, settings_of
from services.client.errors import UsageProblem
from services.runtime.console import print_result, progress_of

if TYPE_CHECKING:
    from propagation.adapters.sqlite.maintenance.commands import SqliteFiles
    from services.config.settings import Settings

T = TypeVar("T")
Target = Annotated[
    Path, typer.Argument(metavar="FILE", help="The file to write; its folder must be there.")
]
Source = Annotated[Path, typer.Argument(metavar="FILE", help="What `backup` or `export` wrote.")]
Force = Annotated[bool, typer.Option("--force", help="Overwrite what is there.")]
MIB = 1 << 20
NICE = 5


def backup(
    file: Target,
    force: Force = False,
    database: Database = None,
    config: Config = None,
    assignments: Assignments = None,
    json: AsJson = False,
) -> None:
    """Copy the database as it is now into FILE; the service may run.

    The copy holds what is forgotten later: keep back-ups no longer than you may keep that.

    JSON: {"file", "bytes", "seconds"}.
    """
    settings = database_in_file(settings_of(config, assignments, database=database))
    os.nice(NICE)  # a service on the same processors goes first
    size, seconds = _timed(
        "backup", lambda files, say: files.backup(file, say, replace=force), settings
    )
    print_result(
        {"file": file, "bytes": size, "seconds": seconds},
        f"{file} holds {size / MIB:,.1f} MiB, written in {seconds:.1f} s.",
        json=json,
    )


def restore(
    file: Source,
    force: Force = False,
    database: Database = None,
    config: Config = None,
    assignments: Assignments = None,
    json: AsJson = False,
) -> None:
    """Restore the database from a back-up or an export; stop the service first.

    An existing database is overwritten only with --force. The content of FILE is checked before
    anything is replaced; `propagation doctor` checks more.

    JSON: {"database", "bytes", "seconds"}.
    """
    settings = settings_of(config, assignments, database=database)
    if settings.store != "sqlite":
        database_in_file(settings)
    if not file.exists():
        raise UsageProblem(f"{file} is not there; name what `propagation backup` or `export` wrote")
    _, seconds = _timed(
        "restore", lambda files, say: files.restore(file, say, replace=force), settings
    )
    size = settings.database.stat().st_size
    print_result(
        {"database": settings.database, "bytes": size, "seconds": seconds},
        f"{settings.database} is restored from {file}: {size / MIB:,.1f} MiB in {seconds:.1f} s.",
        json=json,
    )


def export(
    file: Target,
    force: Force = False,
    database: Database = None,
    config: Config = None,
    assignments: Assignments = None,
    json: AsJson = False,
) -> None:
    """Write the whole database to FILE as JSON Lines; the service may run.

    `restore` reads it again, without loss.

    JSON: {"file", "rows", "bytes", "seconds"}.
    """
    settings = database_in_file(settings_of(config, assignments, database=database))
    os.nice(NICE)  # a service on the same processors goes first
    rows, seconds = _timed(
        "export", lambda files, say: files.export(file, say, replace=force), settings
    )
    size = file.stat().st_size
    print_result(
        {"file": file, "rows": rows, "bytes": size, "seconds": seconds},
        f"{file} holds {rows:,} rows, {size / MIB:,.1f} MiB, written in {seconds:.1f} s.",
        json=json,
    )


def compact(
    database: Database = None,
    config: Config = None,
    assignments: Assignments = None,
    json: AsJson = False,
) -> None:
    """Write the database file anew without holes; stop the service first.

    It drops what retention no longer keeps, and needs room for a second file of the same size.

    JSON: {"dropped", "bytes_before", "bytes", "seconds"}.
    """
    from propagation.workflow.forget.retention import retain_all

    settings = database_in_file(settings_of(config, assignments, database=database))
    started = time.monotonic()
    dropped = with_store(settings, retain_all)
    (before, after), _ = _timed("compact", lambda files, _: files.compact(), settings)
    seconds = round(time.monotonic() - started, 3)
    print_result(
        {"dropped": dropped, "bytes_before": before, "bytes": after, "seconds": seconds},
        f"{dropped:,} rows dropped; {before / MIB:,.1f} MiB are {after / MIB:,.1f} MiB now, "
        f"after {seconds:.1f} s.",
        json=json,
    )


def _timed(
    what: str, work: "Callable[[SqliteFiles, Callable[[int, int], None]], T]", settings: "Settings"
) -> tuple[T, float]:
    """Run `work` under a progress bar; return its result and the seconds that it took."""
    from services.assembly import sqlite_files

    started = time.monotonic()
    with progress_of(what) as progress:
        found = work(sqlite_files(settings), progress)
    return found, round(time.monotonic() - started, 3)
