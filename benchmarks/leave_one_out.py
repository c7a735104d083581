"""Leave-last-one-out on MovieLens 100k (OFFLINE_ROUTING.md): exact, the live default, median of 3 seeds."""

import asyncio

from benchmarks.run import Figures, Run
from propagation.adapters.offline.embedder import HashedEmbedder
from propagation.datasets.load import load_dataset
from propagation.evaluation.from_dataset import stream_of
from propagation.evaluation.leave_one_out import KNOWING, LIVE, evaluate_leave_one_out
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
    report = asyncio.run(evaluate_leave_one_out(stream, HashedEmbedder(SEED), settings))
    for setting in report.known:
        live, bare = setting.arm(LIVE), setting.arm("off")
        run.note(f"{KNOWING[setting.name]}: N@10 of 10 {live.n10:.4f}, of 100 {live.n10_of_100:.4f}; without propagation and kNN "
                 f"{bare.n10:.4f}, {bare.n10_of_100:.4f}; {setting.targets} targets")
    for key, value in report.keys().items():
        if isinstance(value, float):
            yield key, value
