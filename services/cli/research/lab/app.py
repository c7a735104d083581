"""The commands of `propagation lab`."""

import typer

from services.cli.exits import Command
from services.cli.research.lab.list import list_experiments
from services.cli.research.lab.report import export_run, report_run
from services.cli.research.lab.run import run_experiment

lab = typer.Typer(help="Run a paper's experiment on any data, and compare methods.")
lab.command("list", cls=Command)(list_experiments)
lab.command("run", cls=Command)(run_experiment)
lab.command("report", cls=Command)(report_run)
lab.command("export", cls=Command)(export_run)
