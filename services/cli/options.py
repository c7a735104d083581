"""Options that several commands share, and the settings from them."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

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
