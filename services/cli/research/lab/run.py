"""`propagation lab run`: an experiment's methods on the same targets."""

import asyncio
from contextlib import AsyncExitStack, ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from services.cli.access import AsJson, Assignments, Config, First, get_settings
from services.cli.exits import ExitCode
from services.cli.research.lab.choices import (
    choose_candidates,
    choose_models,
    choose_moments,
    choose_names,
)
from services.cli.research.lab.estimate import confirm_costs
from services.cli.research.lab.options import Against, check_against, find_experiment
from services.client.errors import UsageProblem
from services.runtime.console import print_error, print_json, print_table, print_text, show_progress

if TYPE_CHECKING:
    from collections.abc import Sequence

    from propagation.laboratory.experiments import Experiment
    from propagation.laboratory.methods import Method
    from propagation.laboratory.runs import MethodFigures, Outcome, RunPlan
    from services.laboratory.model import LabModel
    from services.laboratory.progress import RunProgress

NO_MODEL = (None,)


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
            help="The language model, or several as A,B in recnet/figure4; the server is"
            " --set openai.base_url=ADDRESS.",
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
    candidates: Annotated[
        bool,
        typer.Option(
            "--candidates",
            help="Draw other items among the folder's fixed candidates (.candidates).",
        ),
    ] = False,
    after: Annotated[
        float | None,
        typer.Option(
            metavar="SHARE",
            min=0,
            max=0.99,
            help="ours/prequential: the share of events before the first target; default: 0.4.",
        ),
    ] = None,
    refits: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=1000,
            help="ours/prequential: how often methods are fitted that do not learn live;"
            " default: 10.",
        ),
    ] = None,
    without_times: Annotated[
        bool,
        typer.Option(
            "--without-times",
            help="Take a made-up order of events if the data have no times; the report says so.",
        ),
    ] = False,
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
    and methods and seeds can be added. A method runs again if what computes its results changed:
    its program, its packages, its settings, or this program's version or code. Exit code 1 if a
    method failed. docs/laboratory.md explains methods, figures and files.

    JSON: {"experiment", "data", "notes", "order_made_up", "against", "absent", "failed", "remarks",
    "methods": [{"method", "seeds", "targets", "means", "errors", "against": {"mean", "t",
    "standard_error"}}]}.
    """
    from propagation.datasets.load import load_dataset
    from propagation.laboratory.methods import get_measured
    from propagation.laboratory.runs import (
        compare,
        drop_stale,
        find_reference,
        join_outcomes,
        list_older,
        list_remarks,
        open_run,
        plan_run,
        read_parts,
    )
    from propagation.laboratory.runs import run_methods as run_all
    from services.cli.research.datasets import check_events
    from services.laboratory.costs import estimate_parts, look_up_answers
    from services.laboratory.methods import build_methods, name_by_model
    from services.laboratory.progress import RunProgress

    chosen = find_experiment(experiment)
    protocol = chosen.protocol
    if protocol is None:
        raise UsageProblem(f"{experiment} is not built yet; `propagation lab list` says what is")
    models = choose_models(config, assignments, model, reasoner)
    if len(models) > 1 and not chosen.by_model:
        raise UsageProblem(f"{experiment} takes one model; name one with --model")
    # The live default asks no model here, whatever the settings name.
    settings = get_settings(config, [*(assignments or []), "reasoner=offline"])
    dataset = load_dataset(data, settings.workflow.seed).first(first)
    protocol, dataset = choose_candidates(chosen.name, protocol, dataset, data, take=candidates)
    protocol = choose_moments(chosen.name, protocol, after, refits)
    names = choose_names(chosen, methods, models)
    groups: dict[LabModel | None, list[Method]] = {
        asked: build_methods(names, dataset, settings, check_events, asked, program_minutes)
        for asked in models or NO_MODEL
    }
    if chosen.by_model:
        groups = name_by_model(groups)
    built = [method for some in groups.values() for method in some]
    check_against(against, [method.name for method in built])
    plan = plan_run(experiment, dataset, protocol, without_times=without_times)
    folder = run or Path("lab-runs") / f"{experiment.replace('/', '-')}-{data.resolve().name}"
    repetitions = range(1, seeds + 1)

    async def run_with(asked: "LabModel | None", count: "RunProgress") -> "Outcome":
        async with AsyncExitStack() as opened:
            if asked is not None:
                await opened.enter_async_context(asked.open(folder))
                asked.note_answer = count.count_call
            return await run_all(
                folder,
                dataset,
                protocol,
                groups[asked],
                repetitions,
                count.count_parts,
                asked.measure if asked else get_measured,
            )

    with ExitStack() as opened:
        if is_known := folder.exists():  # checks and locks it before anybody is asked
            opened.enter_context(open_run(folder, plan))
        parts = {
            asked: estimate_parts(folder, dataset, protocol, some, repetitions)
            for asked, some in groups.items()
        }
        parts = {
            asked: asyncio.run(look_up_answers(some, asked, folder)) if asked else some
            for asked, some in parts.items()
        }
        confirm_costs(parts, folder, yes=yes)
        if not is_known:
            opened.enter_context(open_run(folder, plan))
        with show_progress(experiment) as show:
            outcome = join_outcomes(
                asyncio.run(run_with(asked, RunProgress(some, asked, show)))
                for asked, some in parts.items()
            )
    print_error(
        *outcome.absent.values(),
        *dict.fromkeys(outcome.failed.values()),
        *(
            f"{name} ran again: it has changed since, or results lacked a measure."
            for name in outcome.repeated
        ),
    )
    # Rows of models that were asked before stand beside those of today's.
    shown = None if chosen.by_model else [method.name for method in built]
    written, older = read_parts(folder, shown), list_older(folder, shown)
    results = drop_stale(written, built)
    reference = against or find_reference(chosen, results)
    figures = compare(results, chosen.measures, reference)
    if json:
        _print_json(plan, figures, reference, outcome, list_remarks(results, older))
    else:
        _print(chosen, plan, figures, reference, [*outcome.absent])
        print_text(*list_remarks(results, older))
    if outcome.failed:
        raise typer.Exit(ExitCode.WRONG)


def _print(
    experiment: "Experiment",
    plan: "RunPlan",
    figures: "Sequence[MethodFigures]",
    against: str,
    absent: "Sequence[str]",
) -> None:
    from services.laboratory.page import build_headers, build_rows, describe_run, list_warnings

    print_text(*list_warnings(plan))
    headers = build_headers(experiment, figures, against)
    print_table(
        f"{experiment.name}: {experiment.title}",
        headers,
        build_rows(figures, experiment.measures, absent),
        headers[1:],
    )
    print_text(*describe_run(experiment, plan))


def _print_json(
    plan: "RunPlan",
    figures: "Sequence[MethodFigures]",
    against: str,
    outcome: "Outcome",
    remarks: "Sequence[str]",
) -> None:
    print_json(
        {
            "experiment": plan.experiment,
            "data": plan.data,
            "notes": list(plan.notes),
            "order_made_up": plan.order_made_up,
            "against": against,
            "absent": dict(outcome.absent),
            "failed": dict(outcome.failed),
            "remarks": remarks,
            "methods": [
                {
                    "method": one.method,
                    "seeds": one.seeds,
                    "targets": one.targets,
                    "means": dict(one.means),
                    "errors": dict(one.errors),
                    "against": one.against.model_dump() if one.against else None,
                }
                for one in figures
            ],
        }
    )
