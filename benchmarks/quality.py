"""Ranking quality on MovieLens 100k, by OFFLINE_ROUTING.md's protocol: median of 3 seeds, reported on 40,000 to 100,000."""

import asyncio

from benchmarks.live_quality import measure_live
from benchmarks.run import Figures, Run
from propagation.adapters.offline.embedder import HashedEmbedder
from propagation.datasets.load import load_dataset
from propagation.evaluation.from_dataset import stream_of
from propagation.evaluation.protocol import evaluate_prequential
from propagation.evaluation.settings import EvaluationSettings

SEED = 7
SHORT_EVENTS = 5_000


def measure(run: Run) -> Figures:
    """Without the data there is nothing to measure."""
    if run.ml100k is None:
        run.note("MovieLens 100k is not here: name its folder with --ml100k")
        return
    dataset = load_dataset(run.ml100k, SEED)
    stream = stream_of(dataset.first(SHORT_EVENTS) if run.short else dataset)
    settings = EvaluationSettings(seeds=(1,)) if run.short else EvaluationSettings()
    report = asyncio.run(evaluate_prequential(stream, HashedEmbedder(SEED), settings))
    for key, value in report.keys().items():
        if isinstance(value, float):
            yield key, value
    yield from measure_live(run, dataset)
