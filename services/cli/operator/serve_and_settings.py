"""`propagation serve` and `settings`: run the service, and show the settings in force."""

import asyncio
from typing import Annotated

import typer

from services.cli.options import AsJson, Assignments, Config, Database, load_settings, settings_of
from services.runtime.console import print_json, print_table

Host = Annotated[
    str | None,
    typer.Option(help="Address to bind; other than loopback needs TLS and tokens, or --insecure."),
]
Port = Annotated[int | None, typer.Option(help="Port to bind; 0 takes a free one.")]
Insecure = Annotated[
    bool | None, typer.Option("--insecure", help="Bind other addresses without TLS and tokens.")
]
AutoCreate = Annotated[
    bool | None,
    typer.Option("--auto-create", help="Create unknown users and items with their first event."),
]
LogFormat = Annotated[
    str | None, typer.Option(metavar="console|json", help="How log lines are written (stderr).")
]


def serve(
    database: Database = None,
    host: Host = None,
    port: Port = None,
    insecure: Insecure = None,
    auto_create: AutoCreate = None,
    config: Config = None,
    log_format: LogFormat = None,
    assignments: Assignments = None,
) -> None:
    """Run the service until SIGTERM or Ctrl-C.

    It prints `listening on HOST:PORT` when it is ready. A second SIGTERM or Ctrl-C does not wait
    for running calls. Everything that was acknowledged is on disk.
    """
    settings = settings_of(
        config,
        assignments,
        database=database,
        server__host=host,
        server__port=port,
        server__insecure=insecure,
        auto_create=auto_create,
        server__log_format=log_format,
    )

    from services.server import serve as run

    asyncio.run(
        run(settings, announce=lambda address: print(f"listening on {address}", flush=True))
    )


def settings(config: Config = None, assignments: Assignments = None, json: AsJson = False) -> None:
    """Show the settings in force, and where each value comes from.

    Later sources win: defaults, a preset, the settings file, the environment
    (PROPAGATION_SERVER__PORT for server.port), flags.

    JSON: {key: {"value", "source"}}.
    """
    rows = load_settings(config, assignments).rows()
    if json:
        print_json({key: {"value": value, "source": source} for key, value, source in rows})
    else:
        print_table(
            "",
            ("setting", "value", "from"),
            [(key, "none" if value is None else value, source) for key, value, source in rows],
        )
