"""Ranking quality on MovieLens 100k by the prequential protocol.

Figures are those of the median of 3 seeds, on events 40,000 to 100,000 (docs/numbers.md,
"Protocol").
"""

import asyncio

from benchmarks.quality.live_quality import measure_live
from benchmarks.quality.ml100k import SEED, build_evaluation_settings, ml100k
from benchmarks.run import Figures, Run
from propagation.adapters.offline.embedder import HashedEmbedder
from propagation.evaluation.protocols.numbers_ranking import Report, evaluate_prequential
from propagation.evaluation.stream import build_stream

SHORT_EVENTS = 5_000


def measure(run: Run) -> Figures:
    """Measure the figures, or none if MovieLens 100k is missing."""
    dataset = ml100k(run, SHORT_EVENTS)
    if dataset is None:
        return
    stream = build_stream(dataset)
    report = asyncio.run(
        evaluate_prequential(stream, HashedEmbedder(SEED), build_evaluation_settings(run))
    )
    for key, value in figures_of(report).items():
        if isinstance(value, float):
            yield key, value
    yield from measure_live(run, dataset)


def figures_of(report: Report) -> dict[str, float | None]:
    """Return the figures by the keys of `make bench`; None: not measured."""
    delta = report.arm("adoption").against_off
    return {
        "n10_off": report.arm("off").n10,
        "n10_placebo": report.arm("placebo").n10,
        "n10_adoption": report.arm("adoption").n10,
        "delta": delta.mean if delta else None,
        "delta_t": delta.t if delta else None,
        "n10_offk": report.arm("offk").n10,
        "n10_offk_adoption": report.arm("offk_adoption").n10,
    }
