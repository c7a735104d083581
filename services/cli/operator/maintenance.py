"""Commands that open the database themselves.

`propagation backup`, `restore`, `export` and `compact` copy it; `init`, `rebuild` and `reindex`
compute derived data again.
"""

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from services.cli.access import (
    AsJson,
    Assignments,
    Config,
    Database,
    Force,
    check_output_file,
    get_settings,
    measure_time,
    require_database_in_file,
    with_engine,
    with_store,
)
from services.runtime.console import print_result, show_progress

if TYPE_CHECKING:
    from propagation.adapters.sqlite.maintenance.commands import SqliteFiles
    from services.config.settings import Settings


T = TypeVar("T")
Target = Annotated[
    Path,
    typer.Argument(
        metavar="FILE",
        callback=check_output_file,
        help="The file to write; its folder must exist.",
    ),
]
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
    """Copy the database as it is now into FILE.

    The service may run. The copy still holds data that is forgotten later: keep back-ups no longer
    than you may keep such data.

    JSON: {"file", "bytes", "seconds"}.
    """
    settings = require_database_in_file(get_settings(config, assignments, database=database))
    os.nice(NICE)  # a service on the same processors goes first
    size, seconds = _measure_on_file(
        "backup", lambda files, say: files.backup(file, say, replace=force), settings
    )
    print_result(
        {"file": file, "bytes": size, "seconds": seconds},
        f"{file} holds {size / MIB:,.1f} MiB, written in {seconds:.1f} s.",
        json=json,
    )


def restore(
    file: Annotated[
        Path,
        typer.Argument(metavar="FILE", exists=True, help="A file that `backup` or `export` wrote."),
    ],
    force: Force = False,
    database: Database = None,
    config: Config = None,
    assignments: Assignments = None,
    json: AsJson = False,
) -> None:
    """Restore the database from a back-up or an export.

    Stop the service first. An existing database is overwritten only with --force. The content of
    FILE is checked before anything is replaced; `propagation doctor` checks more.

    JSON: {"database", "bytes", "seconds"}.
    """
    settings = require_database_in_file(
        get_settings(config, assignments, database=database), exists=False
    )
    _, seconds = _measure_on_file(
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
    """Write the whole database to FILE as JSON Lines.

    The service may run. `restore` reads it again, without loss.

    JSON: {"file", "rows", "bytes", "seconds"}.
    """
    settings = require_database_in_file(get_settings(config, assignments, database=database))
    os.nice(NICE)  # a service on the same processors goes first
    rows, seconds = _measure_on_file(
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

    Compaction drops what retention no longer keeps, and needs room for a second file of the same
    size.

    JSON: {"dropped", "bytes_before", "bytes", "seconds"}.
    """
    from propagation.workflow.forget.retention import retain_all

    settings = require_database_in_file(get_settings(config, assignments, database=database))
    dropped, to_drop = measure_time(lambda: with_store(settings, retain_all))
    (before, after), to_compact = _measure_on_file(
        "compact", lambda files, _: files.compact(), settings
    )
    seconds = round(to_drop + to_compact, 3)
    print_result(
        {"dropped": dropped, "bytes_before": before, "bytes": after, "seconds": seconds},
        f"{dropped:,} rows dropped; the file had {before / MIB:,.1f} MiB and now has"
        f" {after / MIB:,.1f} MiB, after {seconds:.1f} s.",
        json=json,
    )


def _measure_on_file(
    what: str, work: "Callable[[SqliteFiles, Callable[[int, int], None]], T]", settings: "Settings"
) -> tuple[T, float]:
    """Run `work` on the database file under a progress bar; see `measure_time`."""
    from services.assembly import build_sqlite_files

    with show_progress(what) as progress:
        return measure_time(lambda: work(build_sqlite_files(settings), progress))


def init(
    database: Database = None,
    config: Config = None,
    assignments: Assignments = None,
    json: AsJson = False,
) -> None:
    """Bootstrap now (stage 0), and open an epoch.

    A bootstrap fits the embedder, finds routers and learns all interactions again. It runs by
    itself at `bootstrap_items` items with text. Run this command to bootstrap earlier, or after
    settings changed (taste.k, session.k, the embedder, the reasoner).

    JSON: {"epoch", "sequence", "seconds"}.
    """
    settings = get_settings(config, assignments, database=database)
    epoch, seconds = measure_time(
        lambda: with_engine(settings, lambda engine: engine.init(_say), adopt=True)
    )
    print_result(
        {"epoch": epoch.number, "sequence": epoch.sequence, "seconds": seconds},
        f"Epoch {epoch.number} is open at sequence {epoch.sequence:,}, after {seconds:.1f} s.",
        json=json,
    )


def _say(step: str) -> None:
    if sys.stderr.isatty():
        print(f"{step} ...", file=sys.stderr)


def rebuild(
    database: Database = None,
    config: Config = None,
    assignments: Assignments = None,
    json: AsJson = False,
) -> None:
    """Compute the numbers again from the log, from the newest barrier on.

    The result is equal to the bit. Learned numbers that are damaged or lost are learned again. If
    they lie before the barrier, everything is learned again in a new epoch, as by `init`.

    JSON: {"sequence", "seconds"}.
    """
    settings = get_settings(config, assignments, database=database)
    sequence, seconds = measure_time(
        lambda: with_engine(settings, lambda one: one.rebuild(), adopt=True)
    )
    print_result(
        {"sequence": sequence, "seconds": seconds},
        f"The numbers are at sequence {sequence:,}, computed again in {seconds:.1f} s.",
        json=json,
    )


def reindex(
    database: Database = None,
    config: Config = None,
    assignments: Assignments = None,
    json: AsJson = False,
) -> None:
    """Empty the vector index and build it again from the graph.

    JSON: {"points", "seconds"}.
    """
    settings = get_settings(config, assignments, database=database)
    with show_progress("reindex") as progress:
        points, seconds = measure_time(
            lambda: with_engine(settings, lambda engine: engine.reindex(progress))
        )
    print_result(
        {"points": points, "seconds": seconds},
        f"The index holds {points:,} points, built in {seconds:.1f} s.",
        json=json,
    )
