"""`propagation lab`: experiments of the papers, on any data."""

import asyncio
import sys
from contextlib import AsyncExitStack, ExitStack
from dataclasses import replace
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from services.cli.access import (
    RESULTS_ENDINGS,
    AsJson,
    Assignments,
    Config,
    First,
    check_ending,
    check_output_file,
    get_settings,
)
from services.cli.exits import Command, ExitCode
from services.client.errors import UsageProblem
from services.runtime.console import print_error, print_json, print_table, print_text, show_progress

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from propagation.datasets.dataset import Dataset
    from propagation.laboratory.experiments import Experiment
    from propagation.laboratory.methods import Method
    from propagation.laboratory.protocols.protocol import Protocol
    from propagation.laboratory.runs import (
        MethodFigures,
        Outcome,
        RunPlan,
    )
    from services.laboratory.costs import PartEstimate
    from services.laboratory.model import LabModel
    from services.laboratory.progress import RunProgress

lab = typer.Typer(help="Run a paper's experiment on any data, and compare methods.")
NO_MODEL = (None,)
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
    its program, its packages, its settings or this program's version. Exit code 1 if a method
    failed. docs/laboratory.md explains methods, figures and files.

    JSON: {"experiment", "data", "notes", "order_made_up", "against", "absent", "failed",
    "methods": [{"method", "seeds", "targets", "means", "against": {"mean", "t",
    "standard_error"}}]}.
    """
    from propagation.datasets.load import load_dataset
    from propagation.laboratory.methods import get_measured
    from propagation.laboratory.runs import (
        compare,
        drop_stale,
        find_reference,
        join_outcomes,
        list_remarks,
        open_run,
        plan_run,
        read_parts,
    )
    from propagation.laboratory.runs import run_methods as run_all
    from services.cli.research.datasets import check_events
    from services.laboratory.costs import estimate_parts
    from services.laboratory.methods import build_methods, name_by_model
    from services.laboratory.progress import RunProgress

    chosen = _find_experiment(experiment)
    protocol = chosen.protocol
    if protocol is None:
        raise UsageProblem(f"{experiment} is not built yet; `propagation lab list` says what is")
    models = _open_models(config, assignments, model, reasoner)
    if len(models) > 1 and not chosen.by_model:
        raise UsageProblem(f"{experiment} takes one model; name one with --model")
    # The live default asks no model here, whatever the settings name.
    settings = get_settings(config, [*(assignments or []), "reasoner=offline"])
    dataset = load_dataset(data, settings.workflow.seed).first(first)
    protocol, dataset = _choose_candidates(chosen.name, protocol, dataset, data, take=candidates)
    protocol = _choose_moments(chosen.name, protocol, after, refits)
    names = _choose_names(chosen, methods, models)
    groups: dict[LabModel | None, list[Method]] = {
        asked: build_methods(names, dataset, settings, check_events, asked, program_minutes)
        for asked in models or NO_MODEL
    }
    if chosen.by_model:
        groups = name_by_model(groups)
    built = [method for some in groups.values() for method in some]
    _check_against(against, [method.name for method in built])
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
        _confirm_costs(parts, folder, yes=yes)
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
    written = read_parts(folder, None if chosen.by_model else [method.name for method in built])
    results = drop_stale(written, built)
    reference = against or find_reference(chosen, results)
    figures = compare(results, chosen.measures, reference)
    if json:
        _print_json(plan, figures, reference, outcome)
    else:
        _print(chosen, plan, figures, reference)
        print_text(*list_remarks(results))
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
    from propagation.laboratory.runs import (
        build_report,
        explain_unwritable,
        find_reference,
        read_known,
        read_parts,
        read_plan,
    )
    from services.laboratory.page import render_run
    from services.laboratory.versions import list_versions

    check_ending("-o", output, (".html",))
    _check_beside(run, output)
    plan = read_plan(run)
    experiment = _find_experiment(plan.experiment)
    if experiment.protocol is None:
        raise UsageProblem(f"{run} holds a run of {plan.experiment}, which is not built")
    parts = read_parts(run)
    _check_against(against, [part.method for part in parts])
    report = build_report(
        experiment,
        plan,
        parts,
        read_known(run),
        against or find_reference(experiment, parts),
        list_versions(),
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


@lab.command("export", cls=Command)
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


def _choose_candidates(
    name: str, protocol: "Protocol", dataset: "Dataset", data: Path, *, take: bool
) -> "tuple[Protocol, Dataset]":
    """Let a protocol draw among the folder's candidates, if wanted.

    Returns:
        The protocol, and the dataset with a note on the candidates, so that runs with others are
        other runs.

    Raises:
        UsageProblem: The folder has none, or the experiment draws none.
    """
    from propagation.datasets.line_reader import clean_name, find_all
    from propagation.datasets.recbole import read_fixed_candidates
    from propagation.laboratory.protocols import fixed_candidates

    files = ", ".join(map(clean_name, find_all(data, "*.candidates")))
    draws = fixed_candidates.draws(protocol)
    if not take:
        if files and draws:
            print_error(f"The fixed candidates in {files} are not used; --candidates takes them.")
        return protocol, dataset
    if not draws:
        raise UsageProblem(f"--candidates: {name} takes no candidates from a file; leave it out")
    named = read_fixed_candidates(data)
    if named is None:
        raise UsageProblem(f"--candidates: {data} has no file *.candidates (docs/data.md)")
    fixed, missing = fixed_candidates.find_rows(dataset, named)
    digest = blake2b(repr(sorted(named.items())).encode(), digest_size=8).hexdigest()
    note = (
        f"Other items are drawn among the candidates of {files} (digest {digest}); {missing:,} of"
        " these are not in the catalogue."
    )
    return (
        fixed_candidates.draw_among(protocol, fixed),
        replace(dataset, notes=(*dataset.notes, note)),
    )


def _check_against(against: str | None, names: "Sequence[str]") -> None:
    """Check that the method is there from which differences are taken.

    Raises:
        UsageProblem: It is not.
    """
    if against is not None and against not in names:
        raise UsageProblem(
            f"--against: {against!r} is none of the methods; choose among"
            f" {', '.join(dict.fromkeys(names))}"
        )


def _choose_moments(
    name: str, protocol: "Protocol", after: float | None, refits: int | None
) -> "Protocol":
    """Change the moments of a prequential protocol, if wanted.

    Raises:
        UsageProblem: --after or --refits was given, and the experiment is not prequential.
    """
    from propagation.laboratory.prequential import Prequential

    if after is None and refits is None:
        return protocol
    if not isinstance(protocol, Prequential):
        raise UsageProblem(
            f"--after and --refits are of ours/prequential, and {name} takes none; leave them out"
        )
    return replace(
        protocol,
        first=protocol.first if after is None else after,
        refits=refits or protocol.refits,
    )


def _open_models(
    config: Path | None, assignments: list[str] | None, names: str | None, reasoner: str | None
) -> "list[LabModel]":
    """Return the models that the options or the settings name, not opened.

    Raises:
        UsageProblem: The options contradict each other.
    """
    from services.laboratory.model import LabModel

    if names is not None and reasoner == "offline":
        raise UsageProblem("--model names a language model and --reasoner is offline; drop one")
    if names is not None:
        named = dict.fromkeys(name.strip() for name in names.split(","))
        flags = [{"openai__model": name, "reasoner": "openai"} for name in named]
    else:
        flags = [{"reasoner": reasoner}] if reasoner is not None else [{}]
    found = [get_settings(config, assignments, **some) for some in flags]
    return [LabModel(settings) for settings in found if settings.reasoner == "openai"]


def _choose_names(
    experiment: "Experiment", methods: str | None, models: "Sequence[LabModel]"
) -> "Sequence[str]":
    """Return the methods' names; by default all that can run."""
    from services.laboratory.asking_methods import asks_model

    if methods is not None:
        return [name.strip() for name in methods.split(",")]
    if models:
        return [*experiment.methods, *experiment.with_model]
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
    parts: "Mapping[LabModel | None, Sequence[PartEstimate]]", folder: Path, *, yes: bool
) -> None:
    """Print about what a run costs, and ask to go on.

    A run that asks no model goes on.

    Args:
        parts: By the model that they ask.

    Raises:
        UsageProblem: There is no terminal to ask on.
        Abort: The answer is no.
    """
    from services.laboratory.costs import describe_costs

    asked = {
        model: some
        for model, some in parts.items()
        if model is not None and any(part.total for part in some)
    }
    for model, some in asked.items():
        pace = asyncio.run(model.read_pace(folder))
        print_error(*describe_costs(some, model, pace))
    if yes or not asked:
        return
    if not has_terminal():
        names = " and ".join(model.name for model in asked)
        raise UsageProblem(
            f"{names} would be asked, and there is no terminal to ask you on; add --yes"
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
    from services.laboratory.page import build_headers, build_rows, describe_run, list_warnings

    print_text(*list_warnings(plan))
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
            "order_made_up": plan.order_made_up,
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
