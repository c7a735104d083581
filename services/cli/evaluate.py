"""`propagation evaluate`."""

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from services.cli.options import AsJson, Assignments, Config, settings_of
from services.cli.output import console, print_json, print_table, progress_bar
from services.failures import UsageProblem

if TYPE_CHECKING:
    from propagation.evaluation.report import Report
    from propagation.evaluation.stream import Stream
    from services.settings import Settings

Folder = Annotated[Path, typer.Argument(help="MovieLens, RecBole atomic files, or clients.jsonl and events.jsonl.")]
Arms = Annotated[str | None, typer.Option(metavar="A,B", help="Show these arms only; all are measured in one pass.")]
Seeds = Annotated[int, typer.Option(min=1, max=100, help="Passes, each with its own seed; medians are reported.")]
First = Annotated[int | None, typer.Option(metavar="N", min=1, help="The earliest N events only.")]
From = Annotated[int | None, typer.Option(metavar="N", min=0, help="Report from event N on; default: the later three fifths.")]
Save = Annotated[Path | None, typer.Option(metavar="FILE", help="Write the whole report as JSON.")]
Plot = Annotated[Path | None, typer.Option(metavar="FILE", help="Draw N@10 over time (.png, .svg).")]


def evaluate(folder: Folder, arms: Arms = None, seeds: Seeds = 3, first: First = None, report_from: From = None,
             save: Save = None, plot: Plot = None, config: Config = None, assignments: Assignments = None,
             json: AsJson = False) -> None:
    """Ranking quality, prequentially: every event is predicted, then learned, in time order; with its controls.

    N@10 and HR@1 against 9 unseen items, in expectation over all draws; differences are paired over users.
    JSON: the report (arms[] with n10, hr1, n10_matched, against_off, against_offk; over_time, settings)."""
    from propagation.datasets.load import load_dataset
    from propagation.evaluation.from_dataset import stream_of

    settings = settings_of(config, assignments)
    shown = _arms(arms)
    dataset = load_dataset(folder, settings.workflow.seed)
    report = _measured(stream_of(dataset.first(first) if first else dataset), settings, seeds, report_from)
    if save:
        save.write_text(report.model_dump_json(indent=2), encoding="utf-8")
    if plot:
        from propagation.evaluation.plot import save_plot

        save_plot(report, plot)
    print_json(report.model_dump(mode="json")) if json else _print(report, shown)


def _arms(text: str | None) -> set[str] | None:
    from propagation.evaluation.table import LABELS

    if text is None:
        return None
    names = {name.strip() for name in text.split(",")}
    unknown = sorted(names - LABELS.keys())
    if unknown:
        raise UsageProblem(f"--arms: {unknown[0]!r} is no arm; there are {', '.join(LABELS)}")
    return names


def _measured(stream: "Stream", settings: "Settings", seeds: int, report_from: int | None) -> "Report":
    from propagation.adapters.offline.embedder import HashedEmbedder
    from propagation.evaluation.protocol import evaluate_prequential
    from propagation.evaluation.settings import EvaluationSettings
    from services.version import release

    workflow = settings.workflow
    told = EvaluationSettings(seeds=tuple(range(1, seeds + 1)), session_k=workflow.session.k, taste_k=workflow.taste.k,
                              report_from=report_from)
    with progress_bar() as bar:
        task = bar.add_task(stream.name, total=seeds * len(stream.user))
        return asyncio.run(evaluate_prequential(stream, HashedEmbedder(workflow.seed), told, commit=release(),
                                                progress=lambda done, total: bar.update(task, completed=done, total=total)))


def _print(report: "Report", shown: set[str] | None) -> None:
    from propagation.evaluation.table import HEADERS, LABELS, rows

    title = (f"{report.dataset}: {report.users:,} users, {report.items:,} items, {report.events:,} events; reported on "
             f"{report.ranked:,} from event {report.reported_from:,} on; median of {len(report.settings.seeds)} seeds")
    kept = [row for name, row in zip(LABELS, rows(report), strict=True) if shown is None or name in shown]
    print_table(title, HEADERS, kept, HEADERS[1:])
    console().print(f"{report.seconds:.0f} s; {report.embedder}", markup=False)
