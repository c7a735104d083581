"""All commands of the command line.

Heavy imports happen only when a command runs.
"""

from collections.abc import Callable
from typing import Annotated

import typer

from services.cli.exits import Command
from services.cli.operator.dead_letters import dead_letters
from services.cli.operator.doctor import doctor
from services.cli.operator.forget import export_client, forget, retract
from services.cli.operator.maintenance import (
    backup,
    compact,
    export,
    init,
    rebuild,
    reindex,
    restore,
)
from services.cli.operator.runs import evolve, run_round, watch
from services.cli.operator.service import health, report, serve, settings, status, web
from services.cli.operator.token import token
from services.cli.query.clients import profile, recommend, similar
from services.cli.query.history import events, history, measurements, search
from services.cli.query.inspect import inspect
from services.cli.query.routing import routers, trace
from services.cli.query.versions import versions
from services.cli.research.datasets import import_, replay
from services.cli.research.evaluate import evaluate
from services.cli.research.lab.app import lab
from services.cli.research.model_check import model_check
from services.cli.research.playground import demo, fake_llm

# In the order of `propagation --help`.
COMMANDS: dict[str, Callable[..., None]] = {
    "serve": serve,
    "web": web,
    "import": import_,
    "search": search,
    "profile": profile,
    "similar": similar,
    "recommend": recommend,
    "trace": trace,
    "routers": routers,
    "versions": versions,
    "watch": watch,
    "history": history,
    "measurements": measurements,
    "round": run_round,
    "evolve": evolve,
    "status": status,
    "health": health,
    "events": events,
    "retract": retract,
    "forget": forget,
    "export-client": export_client,
    "replay": replay,
    "report": report,
    "evaluate": evaluate,
    "demo": demo,
    "fake-llm": fake_llm,
    "model-check": model_check,
    "init": init,
    "rebuild": rebuild,
    "reindex": reindex,
    "doctor": doctor,
    "backup": backup,
    "restore": restore,
    "export": export,
    "compact": compact,
    "inspect": inspect,
    "settings": settings,
}

app = typer.Typer(
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=(
        "Exit codes: 0 done, 1 the command found a problem, 2 wrong use, 3 bad data or settings, "
        "4 service unreachable, 5 database held by another process, 6 refused by the service, "
        "70 a fault of this program, 130 interrupted."
    ),
)


def _print_version(wanted: bool) -> None:
    if wanted:
        from propagation.release import release  # slow to import

        print(f"propagation {release()}")
        raise typer.Exit


@app.callback()
def propagation(
    _version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version and exit."
        ),
    ] = False,
    _debug: Annotated[
        bool,
        typer.Option("--debug", help="Show the stack trace of an error; may be given anywhere."),
    ] = False,
) -> None:
    """Run preference propagation: profiles that follow others, explained recommendations."""


for name, command in COMMANDS.items():
    app.command(name, cls=Command)(command)
app.add_typer(dead_letters, name="dead-letters")
app.add_typer(token, name="token")
app.add_typer(lab, name="lab")
