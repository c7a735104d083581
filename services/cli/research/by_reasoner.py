"""Leave-one-out with a language model as the ranker, for `propagation evaluate`.

It runs the whole loop on the database of the settings; a stopped run goes on where it was.
"""

from collections.abc import Sequence
from pathlib import Path

from propagation.datasets.dataset import Dataset
from propagation.datasets.load import load_dataset
from propagation.datasets.recbole import fixed_candidates
from propagation.evaluation.protocols.by_reasoner import (
    ByReasonerReport,
    PromptCost,
    evaluate_by_reasoner,
)
from propagation.model import pluralize
from propagation.workflow.engine import Engine
from services.cli.access import with_engine
from services.cli.research.datasets import checked, checked_clients
from services.config.settings import Settings
from services.runtime.console import console, print_json, print_table, progress_of
from services.runtime.process import release

HEADERS = ("candidates", "targets", "N@1", "N@5", "N@10", "ranked by numbers")
COST_HEADERS = (
    "prompt",
    "calls",
    "cached",
    "prompt tokens",
    "completion tokens",
    "seconds",
    "money",
)


def by_reasoner(
    folder: Path,
    settings: Settings,
    seeds: int,
    first: int | None,
    save: Path | None,
    *,
    json: bool,
) -> None:
    """Measure and print; what was done before an error stays in the database."""
    dataset = load_dataset(folder, settings.workflow.seed)
    report = measured(folder, dataset.first(first) if first else dataset, settings, seeds)
    if save:
        save.write_text(report.model_dump_json(indent=2), encoding="utf-8")
    print_json(report.model_dump(mode="json")) if json else show(report)


def measured(folder: Path, dataset: Dataset, settings: Settings, seeds: int) -> ByReasonerReport:
    """Measure on the database of the settings, which is created if needed."""
    fixed = fixed_candidates(folder)

    async def run(engine: Engine) -> ByReasonerReport:
        with progress_of(dataset.name) as progress:
            return await evaluate_by_reasoner(
                engine,
                dataset,
                checked_clients(dataset.clients),
                checked(dataset.events),
                fixed,
                seeds=range(1, seeds + 1),
                commit=release(),
                progress=progress,
            )

    return with_engine(settings, run, create=True)


def show(report: ByReasonerReport) -> None:
    """Print the report."""
    rows = [
        (
            draw.name,
            f"{draw.targets:,}",
            f"{draw.n1:.4f}",
            f"{draw.n5:.4f}",
            f"{draw.n10:.4f}",
            f"{draw.by_numbers:,}",
        )
        for draw in report.draws
    ]
    title = (
        f"{report.dataset}, leave-last-one-out by {report.reasoner}: "
        f"{pluralize(report.users, 'user')}, "
        f"{pluralize(report.learned, 'event')} learned"
    )
    print_table(title, HEADERS, rows, HEADERS[1:])
    costs = _rows(report.cost)
    if costs and report.runs > 1:
        print_table(
            f"What all {report.runs} runs cost",
            COST_HEADERS,
            _rows(report.cost_in_all),
            COST_HEADERS[1:],
        )
    if costs:
        print_table(
            "What this run cost" if report.runs == 1 else "What the last run cost",
            COST_HEADERS,
            costs,
            COST_HEADERS[1:],
        )
    took = f"{report.seconds:.0f} s"
    if report.runs > 1:
        took = f"{report.seconds_in_all:.0f} s in {report.runs} runs, {took} the last"
    console().print(
        f"{pluralize(report.dead_letters, 'dead letter')}; {took}; {report.commit}", markup=False
    )


def _rows(costs: Sequence[PromptCost]) -> list[tuple[str, ...]]:
    return [
        (
            one.prompt,
            f"{one.calls:,}",
            f"{one.cached:,}",
            f"{one.prompt_tokens:,}",
            f"{one.completion_tokens:,}",
            f"{one.seconds:,.0f}",
            f"{one.money:,.4f}",
        )
        for one in costs
    ]
