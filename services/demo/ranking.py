"""Ranking quality in the demo: propagation off, on, and as a placebo."""

import asyncio

import structlog

from propagation.adapters.offline.embedder import HashedEmbedder
from propagation.datasets.dataset import Dataset
from propagation.evaluation.protocols.metrics import ArmReport, Paired
from propagation.evaluation.protocols.numbers_ranking import Report, evaluate_prequential
from propagation.evaluation.reports.table import FOOTNOTE
from propagation.evaluation.stream import EvaluationSettings, build_stream
from propagation.model import InvalidInput, pluralize
from services.runtime.console import print_table, print_text
from services.runtime.kernel_cache import fill_kernel_cache, has_compiled_kernels
from services.runtime.kernel_compiler import EVALUATION

ARMS = {
    "off": "propagation off",
    "adoption": "propagation on",
    "placebo": "placebo: the same, routers shuffled",
}
CLEAR_T = 3.0
log = structlog.get_logger()


async def rank_events(dataset: Dataset, seed: int) -> Report | str:
    """Measure ranking on the demo's events, while the service runs.

    Returns:
        The report, or the reason why nothing can be ranked.
    """
    try:
        stream = build_stream(dataset)
        stream.check()
        if not has_compiled_kernels(EVALUATION):
            await fill_kernel_cache(EVALUATION, asyncio.Event(), log.info)
        return await evaluate_prequential(
            stream, HashedEmbedder(seed), EvaluationSettings(seeds=(1,))
        )
    except InvalidInput as error:
        return str(error)


def show_ranking(report: Report | str) -> None:
    """Print the three arms and what they mean."""
    if isinstance(report, str):
        print_text(f"Nothing was ranked: {report}.")
        return
    print_text(
        f"Every event is predicted, then learned. Reported: the later {report.ranked:,} of"
        f" {pluralize(report.events, 'event')}. N@10: 1 if the chosen item comes first of ten,"
        " .29 if last."
    )
    columns = ("", "N@10", "first of ten", "against off, by user", "t")
    rows = [(label, *_format_figures(report.arm(name))) for name, label in ARMS.items()]
    print_table("", columns, rows, columns[1:])
    on, placebo = (report.arm(name).against_off for name in ("adoption", "placebo"))
    print_text(FOOTNOTE, describe_verdict(on, placebo))


def _format_figures(arm: ArmReport) -> tuple[str, ...]:
    pair = arm.against_off
    return (
        "-" if arm.n10 is None else f"{arm.n10:.3f}",
        "-" if arm.hr1 is None else f"{arm.hr1:.0%}",
        f"{pair.mean:+.3f}" if pair else "",
        f"{pair.t:.1f}" if pair and pair.t is not None else "",
    )


def describe_verdict(on: Paired | None, placebo: Paired | None) -> str:
    """Return in words how propagation and the placebo compare with off."""
    if on is None or on.t is None or placebo is None:
        return "Too few events were ranked to tell a difference."
    effect = "No clear difference here"
    if abs(on.t) >= CLEAR_T and abs(on.mean) > abs(placebo.mean):
        effect = "Here propagation helps" if on.mean > 0 else "Here propagation hurts"
    clear = placebo.t is not None and abs(placebo.t) >= CLEAR_T
    control = (
        f"the placebo differs from off by {placebo.mean:+.3f}"
        if clear
        else "the placebo does nothing, as it should"
    )
    return (
        f"{effect}; {control}. (t: paired over users. A difference is clear if its t is at"
        f" least {CLEAR_T:g} and it is larger than the placebo's.)"
    )
