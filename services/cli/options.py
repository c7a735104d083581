"""Options that several commands share, and what is made of them: settings, a moment."""

import os
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from propagation.v1 import propagation_pb2 as pb
from services.client.errors import UsageProblem

if TYPE_CHECKING:
    from services.config.settings import Settings
    from services.config.sources import LoadedSettings

Address = Annotated[
    str,
    typer.Option(envvar="PROPAGATION_ADDRESS", metavar="HOST:PORT", help="The service to talk to."),
]
AsJson = Annotated[bool, typer.Option("--json", help="One JSON document on stdout, for programs.")]
Config = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Settings file; default: propagation.toml here, if any."),
]
Assignments = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Any setting; may be repeated."),
]
Database = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="The SQLite file; default: the setting `database`."),
]
Moment = Annotated[
    str | None,
    typer.Option(
        "--as-of",
        metavar="SEQUENCE|TIME",
        help=(
            "As it was at this sequence, or at this time of the service's clock "
            "(2026-11-22T03:00:00+01:00; without a zone: UTC)."
        ),
    ),
]
Folder = Annotated[
    Path, typer.Argument(help="MovieLens, RecBole atomic files, or clients.jsonl and events.jsonl.")
]
First = Annotated[int | None, typer.Option(metavar="N", min=1, help="The earliest N events only.")]
Count = Annotated[int, typer.Option("-n", "--count", min=1, max=1000, help="How many.")]
LOOPBACK = "127.0.0.1:50051"


def load_settings(
    config: Path | None, assignments: list[str] | None, **flags: object
) -> "LoadedSettings":
    """Load the settings from all sources.

    Args:
        flags: By key, with __ for the dot; None if not given.
    """
    from services.config.sources import Entry, load_settings, parse_assignments

    named = {
        key.replace("__", "."): Entry(value, f"flag --{key.rpartition('__')[2].replace('_', '-')}")
        for key, value in flags.items()
        if value is not None
    }
    return load_settings(config, os.environ, named | parse_assignments(assignments or []))


def settings_of(config: Path | None, assignments: list[str] | None, **flags: object) -> "Settings":
    """Load the settings of a command."""
    return load_settings(config, assignments, **flags).settings


def parse_as_of(text: str | None) -> pb.AsOf | None:
    """Parse digits as a sequence and anything else as a time in ISO 8601; None if empty.

    Raises:
        UsageProblem: It is neither.
    """
    if text is None:
        return None
    try:
        if text.isascii() and text.isdigit():
            return pb.AsOf(sequence=int(text))
        time = datetime.fromisoformat(text)
        time = time if time.tzinfo is not None else time.replace(tzinfo=UTC)
        found = pb.AsOf()
        found.commit_time.FromDatetime(time.astimezone(UTC).replace(tzinfo=None))
    except (ValueError, OverflowError):
        raise UsageProblem(
            f"--as-of is {text!r}; give a sequence (4711) or a time (2026-11-22T03:00:00Z)"
        ) from None
    return found
