"""The protocols of `propagation evaluate`, each with its tables and pictures."""

import asyncio
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from propagation.datasets.dataset import Dataset
from propagation.datasets.line_reader import clean_name, find_all
from propagation.datasets.load import load_dataset
from propagation.datasets.recbole import read_fixed_candidates
from propagation.evaluation.protocols.metrics import Measured, Slice, StreamReport
from propagation.evaluation.protocols.numbers_ranking import (
    KNOWING,
    Keep,
    Report,
    evaluate_leave_one_out,
    evaluate_prequential,
)
from propagation.evaluation.protocols.reasoner_ranking import (
    ByReasonerReport,
    KeepTargets,
    NamedPromptCost,
    evaluate_by_reasoner,
)
from propagation.evaluation.reports import plot
from propagation.evaluation.reports.slice_differences import SLICED
from propagation.evaluation.reports.table import (
    FIXED_HEADERS,
    FOOTNOTE,
    HEADERS,
    LEAVE_ONE_OUT_HEADERS,
    LEAVE_ONE_OUT_MEASURES,
    MATCHED,
    MEASURES,
    SLICE_FOOTNOTE,
    SLICE_HEADERS,
    arm_rows,
    build_fixed_rows,
    slice_rows,
)
from propagation.evaluation.stream import EvaluationSettings, Stream, build_stream
from propagation.model import pluralize
from propagation.release import release
from propagation.workflow.engine import Engine
from services.assembly import FITTABLE_EMBEDDERS
from services.cli.access import with_engine
from services.cli.research.datasets import check_events
from services.client.errors import UsageProblem
from services.config.settings import Settings
from services.runtime.console import print_error, print_table, print_text, show_progress
from services.runtime.kernel_cache import compile_kernels
from services.runtime.kernel_compiler import EVALUATION

# The arguments of print_table.
Table = tuple[str, Sequence[str], Sequence[Sequence[str]], Sequence[str]]


@dataclass(frozen=True)
class Outcome:
    """A report with its tables, their notes and perhaps a picture.

    Attributes:
        notes: Notes on the tables; the report has notes on the dataset.
        draw: Draws the picture into a file, and raises OSError if it cannot write. None: the
            protocol has no picture.
    """

    report: Measured | ByReasonerReport
    tables: Sequence[Table]
    notes: Sequence[str]
    draw: Callable[[Path], None] | None = None

    def show(self) -> None:
        """Print the notes on the dataset, the tables, and their notes."""
        print_text(*self.report.notes)
        for table in self.tables:
            print_table(*table)
        print_text(*self.notes)


def build_evaluation_settings(
    settings: Settings,
    seeds: int,
    report_from: int | None = None,
    every: int = 1,
    exclude_future: bool = False,
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
        exclude_future=exclude_future,
        ranker=workflow.ranker,
    )


def prepare_stream(folder: Path, dataset: Dataset, *, candidates: bool) -> Stream:
    """Build the stream of a folder's dataset, and print its notes.

    Args:
        candidates: Take the folder's fixed candidates, too.

    Raises:
        UsageProblem: The folder has no fixed candidates.
    """
    fixed = read_fixed_candidates(folder) if candidates else None
    if candidates and fixed is None:
        raise UsageProblem(f"--candidates: {folder} has no file *.candidates (docs/data.md)")
    stream = build_stream(dataset, fixed)
    if not candidates and (ignored := find_all(folder, "*.candidates")):
        stream = replace(
            stream,
            notes=(
                *stream.notes,
                f"The fixed candidates in {', '.join(map(clean_name, ignored))} are not used;"
                " --protocol leave-one-out --candidates ranks against them.",
            ),
        )
    print_error(*stream.notes)
    stream.check()
    return stream


def rank_stream(
    name: str,
    stream: Stream,
    settings: Settings,
    options: EvaluationSettings,
    keep: Keep = lambda seed, known, ranked: None,
    reported: int | None = None,
) -> Report:
    """Predict every event, then learn it, under a progress bar.

    Args:
        name: The name of the progress bar.
        keep: Called with a pass's seed, what was known, and the ranked events.
        reported: The seed whose pass is reported; None: the median one.
    """
    compile_kernels(EVALUATION)
    embedder = FITTABLE_EMBEDDERS[settings.embedder](settings)
    with show_progress(name) as progress:
        return asyncio.run(
            evaluate_prequential(
                stream,
                embedder,
                options,
                commit=release(),
                progress=progress,
                keep=keep,
                reported=reported,
            )
        )


def prequential(
    stream: Stream,
    settings: Settings,
    options: EvaluationSettings,
    shown: Collection[str],
    keep: Keep,
) -> Outcome:
    """Predict every event, then learn it."""
    report = rank_stream(stream.name, stream, settings, options, keep)
    title = (
        f"{report.dataset}: {pluralize(report.users, 'user')},"
        f" {pluralize(report.items, 'item')}, {pluralize(report.events, 'event')}; reported on"
        f" {report.ranked:,} from event {report.reported_from:,} on; {_name_pass(report)}"
    )
    return Outcome(
        report,
        [
            (title, HEADERS, arm_rows(report, MEASURES, shown), HEADERS[1:]),
            *_slice_tables(report.dataset, report.slices),
        ],
        [
            MATCHED,
            *_write_prequential_notes(report),
            *write_cost_notes(report.seconds, report.embedder),
        ],
        lambda path: plot.plot_over_time(report, path),
    )


def _name_pass(report: StreamReport) -> str:
    """Name the pass that the figures come from."""
    seeds = len(report.settings.seeds)
    return f"seed {report.seed}" + (f", the median of {seeds}" if seeds > 1 else "")


def _slice_tables(title: str, slices: Sequence[Slice]) -> list[Table]:
    return [
        (
            f"{title}, by {label}",
            SLICE_HEADERS,
            slice_rows([part for part in slices if part.of == of]),
            SLICE_HEADERS[1:],
        )
        for of, label in SLICED.items()
    ]


def _write_prequential_notes(report: Report) -> list[str]:
    """Say which events and negatives the figures count."""
    notes = [SLICE_FOOTNOTE]
    if any(part.events for part in report.slices if part.of == "user" and part.most == 0):
        notes.append("First events of users (history 0) are in no other figure.")
    notes.append(
        "No negative is an item that its user takes later."
        if report.settings.exclude_future
        else f"{report.future_share:.1%} of the negatives are items that their user takes later;"
        " --exclude-future leaves them out."
    )
    return notes


def cold_start(
    stream: Stream,
    settings: Settings,
    options: EvaluationSettings,
    shown: Collection[str],
    keep: Keep,
) -> Outcome:
    """Rank the stream's events, sliced by how much was known before.

    There are slices by the user's history, and slices by the item's adopters.

    Source: RecNet, Figure 6.
    """
    report = rank_stream(stream.name, stream, settings, options, keep)
    title = (
        f"{report.dataset}: N@10, {pluralize(report.ranked, 'event')} from "
        f"event {report.reported_from:,} on; {_name_pass(report)}"
    )
    return Outcome(
        report,
        _slice_tables(title, report.slices),
        [*_write_prequential_notes(report), *write_cost_notes(report.seconds, report.embedder)],
        lambda path: plot.plot_cold_start(report.slices, title, path),
    )


def leave_one_out(
    stream: Stream,
    settings: Settings,
    options: EvaluationSettings,
    shown: Collection[str],
    keep: Keep,
) -> Outcome:
    """Rank each user's last event in three ways.

    They are: after all other events, at the event's own moment, and with shuffled histories.
    """
    compile_kernels(EVALUATION)
    embedder = FITTABLE_EMBEDDERS[settings.embedder](settings)
    with show_progress(stream.name) as progress:
        report = asyncio.run(
            evaluate_leave_one_out(
                stream, embedder, options, commit=release(), progress=progress, keep=keep
            )
        )
    by_setting = [
        (
            f"{report.dataset}, leave-last-one-out, {KNOWING[setting.name]}:"
            f" {pluralize(setting.targets, 'target')}; {_name_pass(report)}",
            LEAVE_ONE_OUT_HEADERS,
            arm_rows(setting, LEAVE_ONE_OUT_MEASURES, shown),
            LEAVE_ONE_OUT_HEADERS[1:],
        )
        for setting in report.known
    ]
    fixed = (
        f"{report.dataset}, N@10 against the fixed candidates: the first nine, and all",
        FIXED_HEADERS,
        build_fixed_rows(report.known, shown),
        FIXED_HEADERS[1:],
    )
    by_slice = _slice_tables(f"{report.dataset}, {KNOWING['end']}", report.setting("end").slices)
    return Outcome(
        report,
        [*by_setting, *([fixed] if stream.fixed is not None else ()), *by_slice],
        [MATCHED, SLICE_FOOTNOTE, *write_cost_notes(report.seconds, report.embedder)],
        lambda path: plot.draw_leave_one_out(report, path),
    )


def write_cost_notes(seconds: float, embedder: str) -> list[str]:
    """Return the figures' footnote, and their time, embedder and release."""
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


def rank_by_reasoner(
    folder: Path, settings: Settings, seeds: int, first: int | None, keep: KeepTargets
) -> Outcome:
    """Rank each user's last event by a language model.

    All other events are learned first, by the whole loop. It runs on the database of the settings,
    which is created if needed. After an error the database keeps the work so far, and the next run
    goes on from there.
    """
    dataset = load_dataset(folder, settings.workflow.seed).first(first)
    print_error(*dataset.notes)
    fixed = read_fixed_candidates(folder)

    async def run(engine: Engine) -> ByReasonerReport:
        with show_progress(dataset.name) as progress:
            return await evaluate_by_reasoner(
                engine,
                dataset,
                dataset.clients,
                check_events(dataset.events),
                fixed,
                seeds=range(1, seeds + 1),
                commit=release(),
                progress=progress,
                keep=keep,
            )

    return build_reasoner_outcome(with_engine(settings, run, create=True))


def build_reasoner_outcome(report: ByReasonerReport) -> Outcome:
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
        took = f"{report.seconds_in_all:.0f} s in {report.runs} runs, {took} in the last"
    return Outcome(
        report,
        [
            (title, RANKER_HEADERS, rows, RANKER_HEADERS[1:]),
            *(
                (heading, COST_HEADERS, _build_cost_rows(cost), COST_HEADERS[1:])
                for heading, cost in costs.items()
                if cost
            ),
        ],
        [f"{pluralize(report.dead_letters, 'dead letter')}; {took}; {report.commit}"],
    )


def _build_cost_rows(costs: Sequence[NamedPromptCost]) -> list[tuple[str, ...]]:
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
