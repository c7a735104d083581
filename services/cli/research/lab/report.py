"""`propagation lab report` and `export`: a run as page or table."""

from pathlib import Path
from typing import Annotated

import typer

from services.cli.access import RESULTS_ENDINGS, check_ending, check_output_file
from services.cli.research.lab.options import Against, check_against, find_experiment
from services.client.errors import UsageProblem
from services.runtime.console import print_text

Run = Annotated[Path, typer.Argument(help="The folder of a run.", file_okay=False)]


def report_run(
    run: Run,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            metavar="FILE",
            dir_okay=False,
            callback=check_output_file,
            help="The page; default: report.html in the run's folder.",
        ),
    ] = None,
    against: Against = None,
) -> None:
    """Write a run as one HTML page, which loads nothing from elsewhere.

    A JSON file with the same content is written beside it.
    """
    from propagation.laboratory.runs import (
        build_report,
        explain_unwritable,
        find_reference,
        list_older,
        read_known,
        read_parts,
        read_plan,
    )
    from services.laboratory.page import render_run
    from services.laboratory.versions import list_versions

    check_ending("-o", output, (".html",))
    _check_beside(run, output)
    plan = read_plan(run)
    experiment = find_experiment(plan.experiment)
    if experiment.protocol is None:
        raise UsageProblem(f"{run} holds a run of {plan.experiment}, which is not built")
    parts = read_parts(run)
    check_against(against, [part.method for part in parts])
    report = build_report(
        experiment,
        plan,
        parts,
        read_known(run),
        against or find_reference(experiment, parts),
        list_versions(),
        list_older(run),
    )
    path = output or run / "report.html"
    data = path.with_suffix(".json")
    for file, text in (
        (path, render_run(report, experiment.counts)),
        (data, report.model_dump_json(indent=2)),
    ):
        with explain_unwritable(file):
            file.write_text(text, encoding="utf-8")
    print_text(f"The page: {path.absolute()}", f"The same as data: {data.absolute()}")


def export_run(
    run: Run,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            metavar="FILE",
            dir_okay=False,
            callback=check_output_file,
            help="The file, .csv or .npz; default: results.csv in the run's folder.",
        ),
    ] = None,
) -> None:
    """Write every target's results as one table.

    There is a row for each method, seed and target. Columns: method, seed, user, item, history
    (known interactions of the user), adopters (users who are known to have the item), and the
    experiment's measures; nan where a target could not be rated. A .npz holds the columns as NumPy
    arrays, as `propagation evaluate --results` does.
    """
    from propagation.laboratory.runs import (
        collect_results,
        explain_unwritable,
        read_known,
        read_parts,
        read_plan,
    )

    check_ending("-o", output, RESULTS_ENDINGS)
    _check_beside(run, output)
    read_plan(run)
    path = output or run / "results.csv"
    results = collect_results(read_parts(run), read_known(run))
    with explain_unwritable(path):
        results.write(path)
    print_text(f"The table: {path.absolute()}")


def _check_beside(run: Path, output: Path | None) -> None:
    """Check that a file cannot replace one of a run.

    Raises:
        UsageProblem: It would be in the run's folder.
    """
    if output is not None and output.resolve().parent == run.resolve():
        raise UsageProblem(
            f"-o {output}: the run's folder holds the run's own files; name a file elsewhere, or"
            " leave out -o"
        )
