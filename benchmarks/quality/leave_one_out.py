"""Leave-last-one-out on MovieLens 100k: exact, the live default, median of 3 seeds."""

import asyncio

from benchmarks.quality.ml100k import SEED, evaluation_settings, ml100k
from benchmarks.run import Figures, Run
from propagation.adapters.offline.embedder import HashedEmbedder
from propagation.evaluation.protocols.leave_one_out import KNOWING, LIVE, evaluate_leave_one_out
from propagation.evaluation.stream import stream_of

SHORT_EVENTS = 5_000


def measure(run: Run) -> Figures:
    """Measure; without the data there is nothing to measure."""
    dataset = ml100k(run, SHORT_EVENTS)
    if dataset is None:
        return
    stream = stream_of(dataset)
    report = asyncio.run(
        evaluate_leave_one_out(stream, HashedEmbedder(SEED), evaluation_settings(run))
    )
    for setting in report.known:
        live, bare = setting.arm(LIVE), setting.arm("off")
        run.note(
            f"{KNOWING[setting.name]}: N@10 of 10 {live.n10:.4f}, of 100 {live.n10_of_100:.4f}; "
            "without propagation and kNN "
            f"{bare.n10:.4f}, {bare.n10_of_100:.4f}; {setting.targets} targets"
        )
    for key, value in report.keys().items():
        if isinstance(value, float):
            yield key, value
