"""The protocols of `propagation evaluate`, each with its tables and pictures."""

import asyncio
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path

from propagation.adapters.offline.embedder import HashedEmbedder
from propagation.evaluation.protocols.leave_one_out import KNOWING, evaluate_leave_one_out
from propagation.evaluation.protocols.prequential import Report, evaluate_prequential
from propagation.evaluation.reports.plot import cold_start as draw
from propagation.evaluation.reports.plot import left_out, over_time
from propagation.evaluation.reports.table import (
    FOOTNOTE,
    HEADERS,
    LABELS,
    LEAVE_ONE_OUT_HEADERS,
    SLICE_HEADERS,
    leave_one_out_rows,
    rows,
    slice_rows,
)
from propagation.evaluation.stream import EvaluationSettings, Stream
from propagation.model import Term, pluralize
from services.config.settings import Settings
from services.runtime.console import console, print_table, progress_of
from services.runtime.process import release


@dataclass(frozen=True)
class Outcome:
    """A report with its table and picture; `draw` raises OSError if it cannot write."""

    report: Term
    show: Callable[[], None]
    draw: Callable[[Path], None]


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

    def show() -> None:
        title = (
            f"{report.dataset}: {pluralize(report.users, 'user')}, "
            f"{pluralize(report.items, 'item')}, "
            f"{pluralize(report.events, 'event')}; reported on {report.ranked:,} from event "
            f"{report.reported_from:,} on; "
            f"median of {pluralize(len(report.settings.seeds), 'seed')}"
        )
        kept = [row for name, row in zip(LABELS, rows(report), strict=True) if name in shown]
        print_table(title, HEADERS, kept, HEADERS[1:])
        print_cost(report.seconds, report.embedder, FOOTNOTE)

    return Outcome(report, show, lambda path: over_time(report, path))


def cold_start(
    stream: Stream, settings: Settings, options: EvaluationSettings, shown: Collection[str]
) -> Outcome:
    """Rank the same events by how little was known of user and item (RecNet, Figure 6)."""
    report = rank_stream(stream.name, stream, settings, options)
    title = (
        f"{report.dataset}: N@10 by what was known, {pluralize(report.ranked, 'event')} from "
        f"event {report.reported_from:,} on"
    )

    def show() -> None:
        print_table(
            f"{title}; median of {pluralize(len(report.settings.seeds), 'seed')}",
            SLICE_HEADERS,
            slice_rows(report.slices),
            SLICE_HEADERS[1:],
        )
        print_cost(report.seconds, report.embedder, FOOTNOTE)

    return Outcome(report, show, lambda path: draw(report.slices, title, path))


def leave_one_out(
    stream: Stream, settings: Settings, options: EvaluationSettings, shown: Collection[str]
) -> Outcome:
    """Rank each user's last event: at the end, at its own moment, with histories shuffled."""
    embedder = HashedEmbedder(settings.workflow.seed)
    with progress_of(stream.name) as progress:
        report = asyncio.run(
            evaluate_leave_one_out(stream, embedder, options, commit=release(), progress=progress)
        )

    def show() -> None:
        for setting in report.known:
            title = (
                f"{report.dataset}, leave-last-one-out, {KNOWING[setting.name]}: "
                f"{pluralize(setting.targets, 'target')}; "
                f"median of {pluralize(len(report.settings.seeds), 'seed')}"
            )
            kept = [
                row
                for name, row in zip(LABELS, leave_one_out_rows(setting), strict=True)
                if name in shown
            ]
            print_table(title, LEAVE_ONE_OUT_HEADERS, kept, LEAVE_ONE_OUT_HEADERS[1:])
        print_table(
            f"By what was known, {KNOWING['end']} (N@10 of 10)",
            SLICE_HEADERS,
            slice_rows(report.setting("end").slices),
            SLICE_HEADERS[1:],
        )
        print_cost(report.seconds, report.embedder)

    return Outcome(report, show, lambda path: left_out(report, path))


def print_cost(seconds: float, embedder: str, footnote: str = "") -> None:
    """Print a footnote to the figures, and the time that they took."""
    if footnote:
        console().print(footnote, markup=False)
    console().print(f"{seconds:.0f} s; {embedder}; {release()}", markup=False)
