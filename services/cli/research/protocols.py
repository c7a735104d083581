"""The protocols of `propagation evaluate`, each with its tables and pictures."""

import asyncio
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from propagation.adapters.offline.embedder import HashedEmbedder
from propagation.datasets.load import load_dataset
from propagation.datasets.recbole import fixed_candidates
from propagation.evaluation.protocols.by_numbers import (
    KNOWING,
    Report,
    evaluate_leave_one_out,
    evaluate_prequential,
)
from propagation.evaluation.protocols.by_reasoner import (
    ByReasonerReport,
    NamedPromptCost,
    evaluate_by_reasoner,
)
from propagation.evaluation.reports.plot import cold_start as draw
from propagation.evaluation.reports.plot import draw_leave_one_out, over_time
from propagation.evaluation.reports.table import (
    FOOTNOTE,
    HEADERS,
    LEAVE_ONE_OUT_HEADERS,
    LEAVE_ONE_OUT_MEASURES,
    MEASURES,
    SLICE_HEADERS,
    arm_rows,
    slice_rows,
)
from propagation.evaluation.stream import EvaluationSettings, Stream
from propagation.model import Term, pluralize
from propagation.workflow.engine import Engine
from services.cli.access import with_engine
from services.cli.research.datasets import check_events
from services.config.settings import Settings
from services.runtime.console import print_error, print_table, print_text, progress_of
from services.runtime.process import release

# The arguments of print_table.
Table = tuple[str, Sequence[str], Sequence[Sequence[str]], Sequence[str]]


@dataclass(frozen=True)
class Outcome:
    """A report with its tables, the notes below them and, if it has one, its picture.

    `draw` raises OSError if it cannot write.
    """

    report: Term
    tables: Sequence[Table]
    notes: Sequence[str]
    draw: Callable[[Path], None] | None = None

    def show(self) -> None:
        """Print the tables and the notes."""
        for table in self.tables:
            print_table(*table)
        print_text(*self.notes)


def evaluation_settings(
    settings: Settings, seeds: int, report_from: int | None = None, every: int = 1
) -> EvaluationSettings:
    """Return the evaluation's settings from the service's."""
    workflow = settings.workflow
    return EvaluationSettings(
        seeds=tuple(range(1, seeds + 1)),
        session_k=workflow.session.k,
        taste_k=workflow.taste.k,
        tau=workflow.tau,
        report_from=report_from,
        every=every,
    )


def rank_stream(
    name: str, stream: Stream, settings: Settings, options: EvaluationSettings
) -> Report:
    """Predict, then learn, every event under a progress bar of this name."""
    embedder = HashedEmbedder(settings.workflow.seed)
    with progress_of(name) as progress:
        return asyncio.run(
            evaluate_prequential(stream, embedder, options, commit=release(), progress=progress)
        )


def prequential(
    stream: Stream, settings: Settings, options: EvaluationSettings, shown: Collection[str]
) -> Outcome:
    """Predict, then learn, every event."""
    report = rank_stream(stream.name, stream, settings, options)
    title = (
        f"{report.dataset}: {pluralize(report.users, 'user')},"
        f" {pluralize(report.items, 'item')}, {pluralize(report.events, 'event')}; reported on"
        f" {report.ranked:,} from event {report.reported_from:,} on; median of"
        f" {pluralize(len(report.settings.seeds), 'seed')}"
    )
    return Outcome(
        report,
        [(title, HEADERS, arm_rows(report, MEASURES, shown), HEADERS[1:])],
        cost_notes(report.seconds, report.embedder),
        lambda path: over_time(report, path),
    )


def cold_start(
    stream: Stream, settings: Settings, options: EvaluationSettings, shown: Collection[str]
) -> Outcome:
    """Rank the stream's events, sliced by what was known.

    A slice is how much was known of the user and of the item.

    Source: RecNet, Figure 6.
    """
    report = rank_stream(stream.name, stream, settings, options)
    title = (
        f"{report.dataset}: N@10 by what was known, {pluralize(report.ranked, 'event')} from "
        f"event {report.reported_from:,} on"
    )
    return Outcome(
        report,
        [
            (
                f"{title}; median of {pluralize(len(report.settings.seeds), 'seed')}",
                SLICE_HEADERS,
                slice_rows(report.slices),
                SLICE_HEADERS[1:],
            )
        ],
        cost_notes(report.seconds, report.embedder),
        lambda path: draw(report.slices, title, path),
    )


def leave_one_out(
    stream: Stream, settings: Settings, options: EvaluationSettings, shown: Collection[str]
) -> Outcome:
    """Rank each user's last event in three settings.

    These are at the end, at the event's own moment, and with histories shuffled.
    """
    embedder = HashedEmbedder(settings.workflow.seed)
    with progress_of(stream.name) as progress:
        report = asyncio.run(
            evaluate_leave_one_out(stream, embedder, options, commit=release(), progress=progress)
        )
    by_setting = [
        (
            f"{report.dataset}, leave-last-one-out, {KNOWING[setting.name]}:"
            f" {pluralize(setting.targets, 'target')}; median of"
            f" {pluralize(len(report.settings.seeds), 'seed')}",
            LEAVE_ONE_OUT_HEADERS,
            arm_rows(setting, LEAVE_ONE_OUT_MEASURES, shown),
            LEAVE_ONE_OUT_HEADERS[1:],
        )
        for setting in report.known
    ]
    by_slice = (
        f"By what was known, {KNOWING['end']} (N@10 of 10)",
        SLICE_HEADERS,
        slice_rows(report.setting("end").slices),
        SLICE_HEADERS[1:],
    )
    return Outcome(
        report,
        [*by_setting, by_slice],
        cost_notes(report.seconds, report.embedder),
        lambda path: draw_leave_one_out(report, path),
    )


def cost_notes(seconds: float, embedder: str) -> list[str]:
    """Return a footnote to the figures, and the time that they took."""
    return [FOOTNOTE, f"{seconds:.0f} s; {embedder}; {release()}"]


RANKER_HEADERS = ("candidates", "targets", "N@1", "N@5", "N@10", "ranked by numbers")
COST_HEADERS = (
    "prompt",
    "calls",
    "cached",
    "prompt tokens",
    "completion tokens",
    "seconds",
    "money",
)


def by_reasoner(folder: Path, settings: Settings, seeds: int, first: int | None) -> Outcome:
    """Rank each user's last event by a language model.

    The model has learned all other events.
    It runs the whole loop on the database of the settings, which is created if needed. What was
    done before an error stays there: a stopped run goes on where it was.
    """
    dataset = load_dataset(folder, settings.workflow.seed).first(first)
    print_error(*dataset.notes)
    fixed = fixed_candidates(folder)

    async def run(engine: Engine) -> ByReasonerReport:
        with progress_of(dataset.name) as progress:
            return await evaluate_by_reasoner(
                engine,
                dataset,
                dataset.clients,
                check_events(dataset.events),
                fixed,
                seeds=range(1, seeds + 1),
                commit=release(),
                progress=progress,
            )

    return reasoner_outcome(with_engine(settings, run, create=True))


def reasoner_outcome(report: ByReasonerReport) -> Outcome:
    """Return the report with its tables: the ranking, and what it cost."""
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
        f"{report.dataset}, leave-last-one-out by {report.reasoner}:"
        f" {pluralize(report.users, 'user')}, {pluralize(report.learned, 'event')} learned"
    )
    costs = {"What this run cost": report.cost}
    took = f"{report.seconds:.0f} s"
    if report.runs > 1:
        costs = {
            f"What all {report.runs} runs cost": report.cost_in_all,
            "What the last run cost": report.cost,
        }
        took = f"{report.seconds_in_all:.0f} s in {report.runs} runs, {took} the last"
    return Outcome(
        report,
        [
            (title, RANKER_HEADERS, rows, RANKER_HEADERS[1:]),
            *(
                (heading, COST_HEADERS, _cost_rows(cost), COST_HEADERS[1:])
                for heading, cost in costs.items()
                if cost
            ),
        ],
        [f"{pluralize(report.dead_letters, 'dead letter')}; {took}; {report.commit}"],
    )


def _cost_rows(costs: Sequence[NamedPromptCost]) -> list[tuple[str, ...]]:
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
