"""Ranking quality on MovieLens 100k by the protocol leave-last-one-out.

Figures are those of the live default, at the median of 3 seeds. N@10 is exact: it is the expected
value over all draws of negatives.
"""

import asyncio

from benchmarks.quality.ml100k import SEED, build_evaluation_settings, ml100k
from benchmarks.run import Figures, Run
from propagation.adapters.offline.embedder import HashedEmbedder
from propagation.evaluation.protocols.numbers_ranking import (
    KNOWING,
    LeaveOneOutReport,
    evaluate_leave_one_out,
)
from propagation.evaluation.stream import build_stream

SHORT_EVENTS = 5_000
LIVE = "offk_adoption"


def measure(run: Run) -> Figures:
    """Measure the figures, or none if MovieLens 100k is missing."""
    dataset = ml100k(run, SHORT_EVENTS)
    if dataset is None:
        return
    stream = build_stream(dataset)
    report = asyncio.run(
        evaluate_leave_one_out(stream, HashedEmbedder(SEED), build_evaluation_settings(run))
    )
    for setting in report.known:
        live, bare = setting.arm(LIVE), setting.arm("off")
        run.note(
            f"{KNOWING[setting.name]}: N@10 of 10 {live.n10:.4f}, of 100 {live.n10_of_100:.4f};"
            f" without propagation and kNN {bare.n10:.4f}, {bare.n10_of_100:.4f}; {setting.targets}"
            " targets"
        )
    for key, value in figures_of(report).items():
        if isinstance(value, float):
            yield key, value


def figures_of(report: LeaveOneOutReport) -> dict[str, float | None]:
    """Return the figures by the keys of `make bench-life`; None: not measured."""
    end, shuffled = report.setting("end"), report.setting("shuffled")
    gain, placebo = end.arm("adoption").against_off, end.arm("placebo").against_off
    return {
        "loo_n10_10": end.arm(LIVE).n10,
        "loo_n10_100": end.arm(LIVE).n10_of_100,
        "loo_shuffled_n10_10": shuffled.arm(LIVE).n10,
        "loo_delta_10": gain.mean if gain else None,
        "loo_placebo_delta_10": placebo.mean if placebo else None,
    }
