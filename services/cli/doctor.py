"""`propagation doctor`."""

import shutil
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from services.cli.exits import ExitCode
from services.cli.options import AsJson, Assignments, Config, Database, settings_of
from services.cli.output import console, print_json, print_table

if TYPE_CHECKING:
    from propagation.workflow.engine import Engine
    from services.settings import Settings

FREE_SHARE = 1.0
FREE_LEAST = 256 << 20
Mend = Annotated[bool, typer.Option("--mend", help="Repair what is derived: the numbers, the index.")]


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at; `problem` is empty where it is sound."""

    looked_at: str
    problem: str
    remedy: str = ""


def doctor(mend: Mend = False, database: Database = None, config: Config = None, assignments: Assignments = None,
           json: AsJson = False) -> None:
    """Look a database over: its file, its schema, what refers to what, the derived index, the settings, the disk.

    JSON: {"sound", "findings": [{"looked_at", "problem", "remedy"}]}. Exit code 1 where something is wrong."""
    from services.cli.opening import with_engine

    settings = settings_of(config, assignments, database=database)
    findings = with_engine(settings, lambda engine: _examined(engine, settings, mend))
    sound = not any(finding.problem for finding in findings)
    if json:
        print_json({"sound": sound, "findings": [asdict(finding) for finding in findings]})
    else:
        print_table("", ("looked at", "found", "what to do"), [(f.looked_at, f.problem or "sound", f.remedy) for f in findings])
        console().print("Everything is sound." if sound else "Something is wrong.")
    if not sound:
        raise typer.Exit(ExitCode.WRONG)


async def _examined(engine: "Engine", settings: "Settings", mend: bool) -> list[Finding]:
    """Opening the engine was the first look: file, schema, settings, and that the numbers follow the log."""
    opened = [Finding(f"{settings.database} opens, its schema and settings fit this release", "")]
    problems = await engine.store.check()
    stored = [Finding("stored data", problem, "restore a back-up, or export what is readable") for problem in problems]
    return [*opened, *(stored or [Finding("stored data", "")]), await _numbers(engine), _disk(settings)]


async def _numbers(engine: "Engine") -> Finding:
    """In memory nothing may be ahead of, nor behind, what was committed."""
    learned, applied = await engine.store.learned_through(), engine.numbers.view.applied_through
    behind = "" if learned == applied else f"reach sequence {applied}, the log {learned}"
    return Finding("numbers against the log", behind, "`propagation rebuild`" if behind else "")


def _disk(settings: "Settings") -> Finding:
    """Room for the file to double, as a vacuum or a rebuild may need."""
    free = shutil.disk_usage(settings.database.resolve().parent).free
    wanted = max(FREE_LEAST, int(settings.database.stat().st_size * FREE_SHARE))
    short = "" if free >= wanted else f"{free >> 20:,} MiB free; {wanted >> 20:,} MiB are wanted"
    return Finding("free disk", short, "free some space, or move the file" if short else "")
