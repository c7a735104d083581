"""`propagation inspect`: questions to the graph on Neo4j."""

import csv
import re
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated

import typer

from services.cli.access import AsJson, Assignments, Config, get_settings
from services.inspection.queries import format_parameters, load_queries, load_query
from services.runtime.console import (
    make_printable,
    print_error,
    print_json,
    print_rows,
    print_table,
)
from services.runtime.errors import NotInstalled

# A spreadsheet reads such a text as a formula; white space and quotes before it do not help.
FORMULA = re.compile(r"[\s'\"]*[=+\-@\uff1d\uff0b\uff0d\uff20]")


def inspect(
    name: Annotated[
        str | None, typer.Argument(help="The question's name; without one, all are listed.")
    ] = None,
    param: Annotated[
        list[str] | None,
        typer.Option(
            "--param",
            metavar="KEY=VALUE",
            help="Replaces a parameter of the sample; may be repeated.",
        ),
    ] = None,
    to: Annotated[
        Path | None,
        typer.Option(
            "--csv", metavar="FILE", help="Write the rows to this file as CSV; - is stdout."
        ),
    ] = None,
    config: Config = None,
    assignments: Assignments = None,
    json: AsJson = False,
) -> None:
    """Ask the graph on Neo4j one of the questions in cypher/inspect/.

    Paste a question into Neo4j Browser to see its answer drawn. This command needs the extra
    `inspect`; it reads neo4j.uri, neo4j.user and neo4j.password.

    JSON: {"columns", "rows"}, or without a name [{"name", "about", "parameters"}].
    """
    if name is None:
        known = load_queries().values()
        print_rows(
            [
                {"name": found.name, "about": found.about, "parameters": found.sample}
                for found in known
            ],
            ("question", "answers", "parameters"),
            [
                (found.name, found.about.splitlines()[0], format_parameters(found.sample))
                for found in known
            ],
            json=json,
        )
        return
    question = load_query(name)
    parameters = question.parameters(param or [])
    try:
        from services.inspection.py2neo_client import run_query
    except ImportError as error:
        raise NotInstalled("propagation inspect", "inspect") from error
    columns, rows = run_query(get_settings(config, assignments).neo4j, question, parameters)
    if not rows:
        print_error(f"nothing was found with {format_parameters(parameters)}")
    if json:
        print_json({"columns": columns, "rows": rows})
    elif to is not None:
        stdout = str(to) == "-"
        with nullcontext(sys.stdout) if stdout else to.open("w", newline="", encoding="utf-8") as f:
            writer = csv.writer(f, quoting=csv.QUOTE_NONNUMERIC)
            writer.writerows([map(_format_cell, row) for row in (columns, *rows)])
    else:
        print_table(question.about.splitlines()[0], columns, rows)


def _format_cell(cell: object) -> object:
    """Return a cell of the CSV, safe for spreadsheets.

    A text that a spreadsheet would read as a formula gets an apostrophe in front. The writer quotes
    all texts, so that none becomes two cells in a program that separates by another character than
    the comma.

    Control and invisible characters are escaped: some programs read a formula behind them.
    """
    if cell is None or isinstance(cell, int | float):
        return cell
    text = make_printable(str(cell))
    return f"'{text}" if FORMULA.match(text) else text
