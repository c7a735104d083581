"""`propagation evaluate`: measure ranking quality on a dataset."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from services.cli.access import (
    RESULTS_ENDINGS,
    AsJson,
    Assignments,
    Config,
    First,
    Folder,
    check_ending,
    check_output_file,
    get_settings,
)
from services.client.errors import UsageProblem
from services.runtime.console import make_printable_json, print_json


def evaluate(
    folder: Folder,
    protocol: Annotated[
        Literal["prequential", "leave-one-out", "cold-start"],
        typer.Option(
            help="prequential: every event in time order; leave-one-out: each user's last event;"
            " cold-start: by how little was known."
        ),
    ] = "prequential",
    arms: Annotated[
        str | None,
        typer.Option(metavar="A,B", help="Show these arms only; all are measured in one pass."),
    ] = None,
    seeds: Annotated[
        int,
        typer.Option(min=1, max=100, help="Passes, each with its own seed; medians are reported."),
    ] = 3,
    first: First = None,
    report_from: Annotated[
        int | None,
        typer.Option(
            metavar="N", min=0, help="Report from event N on; default: the later three fifths."
        ),
    ] = None,
    every: Annotated[
        int, typer.Option(metavar="N", min=1, help="Rank only one event in N; all are learned.")
    ] = 1,
    candidates: Annotated[
        bool,
        typer.Option(
            "--candidates",
            help="leave-one-out: rank against the folder's fixed candidates (.candidates) too.",
        ),
    ] = False,
    exclude_future: Annotated[
        bool,
        typer.Option(
            "--exclude-future", help="Never take an item as a negative if the user takes it later."
        ),
    ] = False,
    vary: Annotated[
        str | None,
        typer.Option(
            metavar="SETTING=A,B", help="Measure the effect of k, tau, buffer or evolution instead."
        ),
    ] = None,
    save: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            dir_okay=False,
            callback=check_output_file,
            help="Write the whole report as JSON.",
        ),
    ] = None,
    results: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            dir_okay=False,
            callback=check_output_file,
            help="Write the result of every target, one per row (.csv, .npz).",
        ),
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            dir_okay=False,
            callback=check_output_file,
            help="Draw what the protocol shows (.pdf, .png, .svg).",
        ),
    ] = None,
    config: Config = None,
    assignments: Assignments = None,
    json: AsJson = False,
) -> None:
    """Measure ranking quality with its controls.

    prequential: every event is predicted, then learned, in the order of time. cold-start: the same,
    by how little was known. leave-one-out: each user's last event, which is never learned, at the
    end, at its own moment, and with histories shuffled. --vary k=20,80: the prequential stream at
    several values of k (routers a bank) or tau (of semantic routing). --vary buffer=3,10 or
    evolution=off,16,4 (an evolution before every so many rounds): the whole loop with texts, on the
    earliest 10,000 events unless --first says otherwise.

    N@10 and HR@1 against 9 unseen items (leave-one-out: 99 too), in expectation over all draws;
    differences are paired over users. All figures are of one pass, that of the median seed;
    --results has every pass. docs/how-to/evaluate.md explains tables and columns.

    JSON: the report (notes, seed, arms[] with n10, hr1, n10_matched, against_off, against_offk;
    slices[], over_time, settings); of leave-one-out: known[] of end, moment and shuffled, each with
    arms[] and slices[]; of --vary: points[] with value, n10, gains, counts.
    """
    from propagation.datasets.load import load_dataset
    from propagation.evaluation.reports.results import Results, keep_in
    from services.assembly import FITTABLE_EMBEDDERS
    from services.cli.research import protocols
    from services.cli.research import vary as effects

    settings = get_settings(config, assignments)
    check_ending("--plot", plot, (".png", ".svg", ".pdf"))
    check_ending("--results", results, RESULTS_ENDINGS)
    _check_protocol(protocol, vary, candidates, results)
    rows = Results()
    if protocol == "leave-one-out" and settings.reasoner != "offline":
        outcome = protocols.rank_by_reasoner(folder, settings, seeds, first, rows.add_targets)
    elif settings.embedder not in FITTABLE_EMBEDDERS:
        raise UsageProblem(
            f"embedder is {settings.embedder!r}, but this protocol measures with one that is fitted"
            " on the catalogue: set embedder=fitted or embedder=sentences, or give --protocol"
            " leave-one-out with reasoner=openai, which takes any embedder"
        )
    else:
        shown = _parse_arms(arms)
        dataset = load_dataset(folder, settings.workflow.seed)
        chosen = dataset.first(first)
        stream = protocols.prepare_stream(folder, chosen, candidates=candidates)
        options = protocols.build_evaluation_settings(
            settings, seeds, report_from, every, exclude_future
        )
        if vary:
            outcome = effects.measure(vary, dataset, stream, settings, options, first)
        else:
            measure = {
                "prequential": protocols.prequential,
                "leave-one-out": protocols.leave_one_out,
                "cold-start": protocols.cold_start,
            }[protocol]
            outcome = measure(stream, settings, options, shown, keep_in(rows, chosen))
    if save:
        save.write_text(
            make_printable_json(outcome.report.model_dump_json(indent=2)), encoding="utf-8"
        )
    if results:
        rows.write(results)
    if plot and outcome.draw:
        outcome.draw(plot)
    print_json(outcome.report.model_dump(mode="json")) if json else outcome.show()


def _check_protocol(
    protocol: str, vary: str | None, candidates: bool, results: Path | None
) -> None:
    """Check that the options can be used together."""
    if vary and protocol != "prequential":
        raise UsageProblem(
            f"--vary is measured on the prequential stream; leave out --protocol {protocol}"
        )
    if vary and results:
        raise UsageProblem(
            "--results cannot be used with --vary: it keeps passes of one setting, not of several"
        )
    if candidates and protocol != "leave-one-out":
        raise UsageProblem(
            "--candidates are fixed for each user's last event: give --protocol leave-one-out"
        )


def _parse_arms(text: str | None) -> set[str]:
    from propagation.evaluation.reports.table import LABELS

    if text is None:
        return set(LABELS)
    names = {name.strip() for name in text.split(",")}
    unknown = sorted(names - LABELS.keys())
    if unknown:
        raise UsageProblem(
            f"--arms: {unknown[0]!r} is not an arm; choose among {', '.join(LABELS)}"
        )
    return names
