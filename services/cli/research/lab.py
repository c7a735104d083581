"""`propagation lab`: experiments of the papers, on any data."""

import asyncio
import sys
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from services.cli.access import (
    AsJson,
    Assignments,
    Config,
    First,
    check_output_file,
    get_settings,
)
from services.cli.exits import Command, ExitCode
from services.client.errors import UsageProblem
from services.runtime.console import print_error, print_json, print_table, print_text, show_progress

if TYPE_CHECKING:
    from collections.abc import Sequence

    from propagation.laboratory.experiments import Experiment, MethodFigures, Outcome, RunPlan
    from services.laboratory.costs import PartEstimate
    from services.laboratory.model import LabModel
    from services.laboratory.progress import RunProgress

lab = typer.Typer(help="Run a paper's experiment on any data, and compare methods.")
Against = Annotated[
    str | None,
    typer.Option(
        metavar="METHOD",
        help="The method from which the others' differences are taken; default: the experiment's.",
    ),
]
Run = Annotated[Path, typer.Argument(help="The folder of a run.", file_okay=False)]


@lab.command("list", cls=Command)
def list_experiments(json: AsJson = False) -> None:
    """List the experiments, what they need, and what is built of them.

    Calls are the most that all its methods make of a language model with one seed, by target and by
    known event, counted on made-up data; `run` counts them on yours before it asks.

    JSON: [{"name", "title", "source", "built", "needs", "calls": {"a_target", "an_event"},
    "methods", "missing"}].
    """
    from propagation.laboratory.experiments.catalogue import EXPERIMENTS
    from services.laboratory.needs import count_call_rates, describe_needs, list_needs

    if json:
        print_json(
            [
                {
                    "name": one.name,
                    "title": one.title,
                    "source": one.source,
                    "built": one.protocol is not None,
                    "needs": list_needs(one) if one.protocol else [],
                    "calls": count_call_rates(one)._asdict(),
                    "methods": list(one.methods),
                    "missing": list(one.missing),
                }
                for one in EXPERIMENTS.values()
            ]
        )
        return
    headers = ("experiment", "what", "needs", "calls", "methods")
    rows = [
        (
            one.name,
            one.title,
            *describe_needs(one),
            ", ".join(one.methods) if one.protocol is not None else "not built yet",
        )
        for one in EXPERIMENTS.values()
    ]
    print_table("Experiments", headers, rows, ())


@lab.command("run", cls=Command)
def run_experiment(
    experiment: Annotated[str, typer.Argument(help="A name of `propagation lab list`.")],
    data: Annotated[
        Path, typer.Option("--data", metavar="FOLDER", help="The dataset: docs/data.md.")
    ],
    run: Annotated[
        Path | None,
        typer.Option(
            "--run",
            metavar="FOLDER",
            file_okay=False,
            help="Where results are kept; a stopped run goes on there. Default:"
            " lab-runs/EXPERIMENT-DATA.",
        ),
    ] = None,
    methods: Annotated[
        str | None,
        typer.Option(metavar="A,B", help="Methods, or program:PATH; default: all that are built."),
    ] = None,
    seeds: Annotated[int, typer.Option(min=1, max=100, help="Repetitions.")] = 3,
    program_minutes: Annotated[
        float,
        typer.Option(min=0.001, help="After how many minutes a program of your own is ended."),
    ] = 60.0,
    against: Against = None,
    model: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="The language model; its server is --set openai.base_url=ADDRESS.",
        ),
    ] = None,
    reasoner: Annotated[
        str | None,
        typer.Option(
            metavar="offline|openai",
            help="Whether methods may ask the model of the settings; --model implies openai.",
        ),
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Ask the model without asking you.")] = False,
    first: First = None,
    config: Config = None,
    assignments: Assignments = None,
    json: AsJson = False,
) -> None:
    """Run an experiment's methods on the same targets, and compare them.

    If methods ask a language model, the calls, tokens, money and time are printed first, and you
    are asked whether to go on. Answers are kept in the run's folder: a stopped run pays for none
    twice.

    Each method and seed is kept as soon as it ends. After Ctrl-C, the same command goes on there,
    and methods and seeds can be added. A method runs again if its file, its settings or the
    service's version changed. Exit code 1 if a method failed. docs/laboratory.md explains methods,
    figures and files.

    JSON: {"experiment", "data", "notes", "against", "absent", "failed", "methods": [{"method",
    "seeds", "targets", "means", "against": {"mean", "t", "standard_error"}}]}.
    """
    from propagation.datasets.load import load_dataset
    from propagation.laboratory.experiments import compare, open_run, plan_run, read_parts
    from propagation.laboratory.experiments import run_methods as run_all
    from services.cli.research.datasets import check_events
    from services.laboratory.costs import estimate_parts
    from services.laboratory.methods import build_methods
    from services.laboratory.progress import RunProgress

    chosen = _find_experiment(experiment)
    protocol = chosen.protocol
    if protocol is None:
        raise UsageProblem(f"{experiment} is not built yet; `propagation lab list` says what is")
    asked = _open_model(config, assignments, model, reasoner)
    # Methods of this service ask no model yet, whatever the settings name.
    settings = get_settings(config, [*(assignments or []), "reasoner=offline"])
    dataset = load_dataset(data, settings.workflow.seed).first(first)
    names = _choose_names(chosen, methods, asked)
    built = build_methods(names, dataset, settings, check_events, asked, program_minutes)
    plan = plan_run(experiment, dataset, protocol)
    folder = run or Path("lab-runs") / f"{experiment.replace('/', '-')}-{data.resolve().name}"
    repetitions = range(1, seeds + 1)
    parts = estimate_parts(folder, dataset, protocol, built, repetitions)
    if asked is not None and any(part.total for part in parts):
        _confirm_costs(parts, asked, folder, yes=yes)

    async def run_with_model(count: "RunProgress") -> "Outcome":
        async with AsyncExitStack() as opened:
            if asked is not None:
                await opened.enter_async_context(asked.open(folder))
                asked.note_answer = count.count_call
            return await run_all(folder, dataset, protocol, built, repetitions, count.count_parts)

    with open_run(folder, plan), show_progress(experiment) as show:
        outcome = asyncio.run(run_with_model(RunProgress(parts, asked, show)))
    print_error(
        *outcome.absent.values(),
        *dict.fromkeys(outcome.failed.values()),
        *(f"{name} ran again: it has changed since." for name in outcome.repeated),
    )
    reference = against or chosen.reference
    figures = compare(
        read_parts(folder, [method.name for method in built]), chosen.measures, reference
    )
    if json:
        _print_json(plan, figures, reference, outcome)
    else:
        _print(chosen, plan, figures, reference)
    if outcome.failed:
        raise typer.Exit(ExitCode.WRONG)


@lab.command("report", cls=Command)
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
    from propagation.laboratory.experiments import (
        build_report,
        read_known,
        read_parts,
        read_plan,
    )
    from services.laboratory.page import render_run
    from services.laboratory.versions import list_versions

    plan = read_plan(run)
    experiment = _find_experiment(plan.experiment)
    if experiment.protocol is None:
        raise UsageProblem(f"{run} holds a run of {plan.experiment}, which is not built")
    report = build_report(
        experiment,
        plan,
        read_parts(run),
        read_known(run),
        against or experiment.reference,
        list_versions(),
    )
    path = output or run / "report.html"
    path.write_text(render_run(report, experiment.counts), encoding="utf-8")
    data = path.with_suffix(".json")
    data.write_text(report.model_dump_json(indent=2), encoding="utf-8")
    print_text(f"The page: {path.absolute()}", f"The same as data: {data.absolute()}")


def _open_model(
    config: Path | None, assignments: list[str] | None, name: str | None, reasoner: str | None
) -> "LabModel | None":
    """Return the model that the options or the settings name, not opened.

    Returns:
        None if they name none.

    Raises:
        UsageProblem: The options contradict each other.
    """
    from services.laboratory.model import LabModel

    if name is not None and reasoner == "offline":
        raise UsageProblem("--model names a language model and --reasoner is offline; drop one")
    flags = {"openai__model": name, "reasoner": "openai" if name is not None else reasoner}
    settings = get_settings(config, assignments, **flags)
    return LabModel(settings) if settings.reasoner == "openai" else None


def _choose_names(
    experiment: "Experiment", methods: str | None, model: "LabModel | None"
) -> "Sequence[str]":
    """Return the methods' names; by default all that can run."""
    from services.laboratory.asking_methods import asks_model

    if methods is not None:
        return [name.strip() for name in methods.split(",")]
    if model is not None:
        return experiment.methods
    left_out = [name for name in experiment.methods if asks_model(name)]
    names = [name for name in experiment.methods if name not in left_out]
    if not names:
        raise UsageProblem(
            f"{experiment.name} needs a language model: name one with --model NAME and --set"
            " openai.base_url=ADDRESS"
        )
    if left_out:
        print_error(
            f"Left out, as they ask a language model and none is named (--model):"
            f" {', '.join(left_out)}."
        )
    return names


def _confirm_costs(
    parts: "Sequence[PartEstimate]", model: "LabModel", folder: Path, *, yes: bool
) -> None:
    """Print what a run costs at most, and ask to go on.

    Raises:
        UsageProblem: There is no terminal to ask on.
        Abort: The answer is no.
    """
    from services.laboratory.costs import describe_costs

    pace = asyncio.run(model.read_pace(folder))
    print_error(*describe_costs(parts, model, pace))
    if yes:
        return
    if not has_terminal():
        raise UsageProblem(
            f"{model.name} would be asked, and there is no terminal to ask you on; add --yes"
        )
    typer.confirm("Go on?", abort=True, err=True)


def has_terminal() -> bool:
    """Return whether somebody can be asked."""
    return sys.stdin.isatty()


def _find_experiment(name: str) -> "Experiment":
    from propagation.laboratory.experiments.catalogue import EXPERIMENTS

    try:
        return EXPERIMENTS[name]
    except KeyError:
        raise UsageProblem(
            f"{name!r} is not an experiment; choose among {', '.join(EXPERIMENTS)}"
        ) from None


def _print(
    experiment: "Experiment", plan: "RunPlan", figures: "Sequence[MethodFigures]", against: str
) -> None:
    from services.laboratory.page import build_headers, build_rows, describe_run

    headers = build_headers(experiment, figures, against)
    print_table(
        f"{experiment.name}: {experiment.title}",
        headers,
        build_rows(figures, experiment.measures),
        headers[1:],
    )
    print_text(*describe_run(experiment, plan))


def _print_json(
    plan: "RunPlan", figures: "Sequence[MethodFigures]", against: str, outcome: "Outcome"
) -> None:
    print_json(
        {
            "experiment": plan.experiment,
            "data": plan.data,
            "notes": list(plan.notes),
            "against": against,
            "absent": dict(outcome.absent),
            "failed": dict(outcome.failed),
            "methods": [
                {
                    "method": one.method,
                    "seeds": one.seeds,
                    "targets": one.targets,
                    "means": dict(one.means),
                    "against": one.against.model_dump() if one.against else None,
                }
                for one in figures
            ],
        }
    )
