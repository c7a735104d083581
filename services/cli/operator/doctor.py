"""`propagation doctor`: check a database."""

import asyncio
import shutil
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from propagation.errors import DamagedNumbers, PropagationError, StoreCorrupt
from services.cli.access import (
    AsJson,
    Assignments,
    Config,
    Database,
    get_settings,
    require_existing_database,
    with_engine,
    with_store,
)
from services.cli.exits import ExitCode
from services.client.errors import UsageProblem
from services.runtime.console import print_json, print_table, print_text

if TYPE_CHECKING:
    from propagation.adapters.sqlite.maintenance.commands import SqliteFiles
    from propagation.ports import GraphStore
    from propagation.workflow.engine import Engine
    from services.config.settings import Settings


LOOKS, PAUSE_SECONDS = 3, 1.0
FREE_LEAST = 256 << 20


@dataclass(frozen=True)
class Finding:
    """The result of one check.

    Attributes:
        looked_at: The part that was checked.
        problem: Empty if the part is sound.
        remedy: What the operator can do.
        wrong: Whether the problem is worse than leftovers of a killed process, which the next
            process repairs.
        done: The repair that was made, if any.
    """

    looked_at: str
    problem: str
    remedy: str = ""
    wrong: bool = False
    done: str = ""


def doctor(
    mend: Annotated[
        bool,
        typer.Option(
            "--mend",
            help="Repair derived data, remove leftovers of killed processes, and report both.",
        ),
    ] = False,
    database: Database = None,
    config: Config = None,
    assignments: Assignments = None,
    json: AsJson = False,
) -> None:
    """Check a database: file, schema, references, index, settings, disk.

    On SQLite, stop the service first; on Neo4j it may run.

    JSON: {"sound", "findings": [{"looked_at", "problem", "remedy", "wrong", "done"}]}. Exit code 1
    if a problem was found and not repaired.
    """
    from services.assembly import build_sqlite_files

    settings = require_existing_database(get_settings(config, assignments, database=database))
    looks: list[Callable[[], list[Finding]]] = [
        lambda: (
            list(_check_file(build_sqlite_files(settings), mend)) if settings.graph_file else []
        ),
        lambda: with_store(settings, _check_store),
        lambda: with_engine(settings, lambda engine: _check_engine(engine, settings)),
    ]
    findings: list[Finding] = []
    while looks and not any(finding.wrong for finding in findings):
        findings.extend(_attempt(looks.pop(0)))
    sound = not any(finding.wrong for finding in findings)
    if json:
        print_json({"sound": sound, "findings": [asdict(finding) for finding in findings]})
    else:
        print_table(
            "",
            ("looked at", "found", "what to do"),
            [(f.looked_at, f.problem or "sound", f.done or f.remedy) for f in findings],
        )
        print_text("Everything is sound." if sound else "Something is wrong.")
    if not sound:
        raise typer.Exit(ExitCode.WRONG)


def _attempt(look: Callable[[], list[Finding]]) -> list[Finding]:
    """Run a check; data that cannot be read is a finding, too."""
    try:
        return look()
    except StoreCorrupt as damage:
        return [_build_finding(str(damage))]
    except PropagationError:
        raise
    except Exception as error:
        return [_build_finding(f"cannot be read: {error!r}")]


def _build_finding(sentence: str) -> Finding:
    """Turn a sentence `problem; remedy` into a finding.

    If the sentence has no remedy, the finding gets a general one.
    """
    problem, _, remedy = sentence.partition("; ")
    return Finding(
        "stored data",
        problem,
        remedy or "restore a back-up, or export what is readable",
        wrong=True,
    )


def _check_file(files: "SqliteFiles", mend: bool) -> Iterator[Finding]:
    """Check the file before the engine opens.

    Opening the engine migrates and repairs the file, and frees leases.

    Raises:
        UsageProblem: Opening would migrate the file, and --mend was not given.
    """
    schema = files.find_older_schema()
    if schema is not None and not mend:
        raise UsageProblem(
            f"the database is from an older release (schema {schema}); checking it would migrate"
            " it, and that release could no longer read it: back it up first, then add --mend (the"
            " service migrates it when it starts, too)"
        )
    if schema is not None:
        yield Finding("schema", f"{schema}, from an older release", done="migrated")
    found = files.list_leftovers()
    if mend and found:
        files.drop_leftovers()
    for leftover in found:
        yield Finding(
            "leftovers of killed processes",
            leftover,
            "nothing; --mend removes them",
            done="removed" if mend else "",
        )
    if not found:
        yield Finding("leftovers of killed processes", "")


async def _check_store(store: "GraphStore") -> list[Finding]:
    """Check what is stored, before an engine reads the numbers."""
    from propagation.workflow.rounds.holder_check import find_wrong_holders

    found = await find_lasting(store.check)
    if not found:  # else a text may be damaged, and the comparison reads them all
        found = await find_lasting(lambda: find_wrong_holders(store))
    numbers = await find_lasting(lambda: _find_wrong_numbers(store))
    return [
        *map(_build_finding, found + numbers),
        *([] if numbers else [Finding("learned blocks", "")]),
    ]


async def _find_wrong_numbers(store: "GraphStore") -> list[str]:
    """Check that learned blocks and checkpoints agree with the log."""
    from propagation.workflow.learn.adoption_check import find_wrong_adoptions

    try:
        await store.get_newest_checkpoint(barrier=True)
        return await find_wrong_adoptions(store)
    except DamagedNumbers as damage:
        return [str(damage)]


async def _check_engine(engine: "Engine", settings: "Settings") -> list[Finding]:
    """Check an opened engine.

    That the engine opened already shows that file, schema and settings are sound, and that the
    numbers follow the log.
    """
    return [
        Finding(f"schema and settings of {settings.graph}", ""),
        await look_again(lambda: check_view(engine)),
        _index(engine),
        *(
            [await look_again(lambda: asyncio.to_thread(_check_disk, settings))]
            if settings.graph_file
            else []
        ),
    ]


async def find_lasting(look: Callable[[], Awaitable[Sequence[str]]]) -> list[str]:
    """Repeat a check, and return the problems that it finds each time.

    A running service may commit between two reads of one check. The check then finds a problem that
    is gone the next time.

    Args:
        look: The check; it is run LOOKS times at most, until no problem is left.
    """
    found = list(await look())
    for _ in range(LOOKS - 1):
        if found:
            await asyncio.sleep(PAUSE_SECONDS)
            repeated = await look()
            found = [problem for problem in found if problem in repeated]
    return found


async def look_again(look: Callable[[], Awaitable[Finding]]) -> Finding:
    """Repeat a check while it finds a problem, LOOKS times at most.

    Returns:
        The last finding; it has a problem only if each check found one.
    """
    finding = await look()
    for _ in range(LOOKS - 1):
        if finding.problem:
            await asyncio.sleep(PAUSE_SECONDS)
            finding = await look()
    return finding


def _index(engine: "Engine") -> Finding:
    """Report the state of the vector index.

    Each start compares the index with the graph and repairs it.
    """
    looked_at, stale = "vector index against the graph", engine.repaired_points
    if engine.index_problem:
        return Finding(
            looked_at,
            engine.index_problem,
            "start its server; a running service then repairs the index",
            wrong=True,
        )
    return Finding(
        looked_at,
        f"{stale:,} points differ from the graph" if stale else "",
        done=f"{stale:,} repaired" if stale else "",
    )


async def check_view(engine: "Engine") -> Finding:
    """Check that the numbers in memory agree with the log.

    They must be neither ahead of the log nor behind it. Other processes may learn during the check.
    """
    store = engine.store
    before = await store.get_learned_through()
    await engine.synchronize()
    applied, learned = engine.applied_through, await store.get_learned_through()
    looked_at = "numbers against the log"
    if before <= applied <= learned:
        return Finding(looked_at, "")
    return Finding(
        looked_at,
        f"the numbers reach sequence {applied}, the log {learned}",
        "`propagation rebuild`",
        wrong=True,
    )


def _check_disk(settings: "Settings") -> Finding:
    """Check that the disk has room for the file to double.

    A compaction or rebuild may need that.
    """
    free = shutil.disk_usage(settings.database.resolve().parent).free
    needed = max(FREE_LEAST, settings.database.stat().st_size)
    if free >= needed:
        return Finding("free disk", "")
    return Finding(
        "free disk",
        f"{free >> 20:,} MiB are free; {needed >> 20:,} MiB are needed",
        "free some space, or move the file",
        wrong=True,
    )
