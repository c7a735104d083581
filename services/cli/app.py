"""The command line: which commands there are. Each is in a file of its own; heavy imports happen when one runs."""

from typing import Annotated

import typer

from services.cli.dead_letters import dead_letters
from services.cli.demo import demo
from services.cli.doctor import doctor
from services.cli.evaluate import evaluate
from services.cli.evolve import evolve
from services.cli.fake_llm import fake_llm
from services.cli.forgetting import export_client, forget, retract
from services.cli.health import health
from services.cli.importing import import_
from services.cli.inspect import inspect
from services.cli.keeping import backup, compact, export, restore
from services.cli.operate import run_round, status
from services.cli.profile import profile, similar
from services.cli.recommend import recommend
from services.cli.replay import replay
from services.cli.report import report
from services.cli.routers import routers
from services.cli.serve import serve
from services.cli.settings import settings
from services.cli.token import token
from services.cli.trace import trace
from services.cli.upkeep import init, rebuild, reindex
from services.cli.watch import watch

EPILOG = """Exit codes: 0 done, 1 something is wrong with what was looked at, 2 wrong use, 3 bad data or settings, 4 service
unreachable, 5 database held by another process, 6 refused by the service, 70 a fault of this program, 130 interrupted."""

app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False,
                  context_settings={"help_option_names": ["-h", "--help"]}, epilog=EPILOG)


def _print_version(wanted: bool) -> None:
    if wanted:
        from services.version import release

        print(f"propagation {release()}")
        raise typer.Exit


@app.callback()
def propagation(
    _version: Annotated[bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print it and exit.")] = False,
    _debug: Annotated[bool, typer.Option("--debug", help="Show the stack trace of an error; may stand anywhere.")] = False,
) -> None:
    """Preference propagation: profiles that change with what others do, and recommendations that say why."""


app.command("serve")(serve)
app.command("import")(import_)
app.command("profile")(profile)
app.command("similar")(similar)
app.command("recommend")(recommend)
app.command("trace")(trace)
app.command("routers")(routers)
app.command("watch")(watch)
app.command("round")(run_round)
app.command("evolve")(evolve)
app.command("status")(status)
app.command("health")(health)
app.command("retract")(retract)
app.command("forget")(forget)
app.command("export-client")(export_client)
app.command("replay")(replay)
app.command("report")(report)
app.command("evaluate")(evaluate)
app.command("demo")(demo)
app.command("fake-llm")(fake_llm)
app.command("init")(init)
app.command("rebuild")(rebuild)
app.command("reindex")(reindex)
app.command("doctor")(doctor)
app.command("backup")(backup)
app.command("restore")(restore)
app.command("export")(export)
app.command("compact")(compact)
app.add_typer(dead_letters, name="dead-letters")
app.add_typer(token, name="token")
app.command("inspect")(inspect)
app.command("settings")(settings)
