"""What each feature of the live ranker is worth.

Each feature is left out once.

    python -m benchmarks.quality FOLDER [EVENTS]

One pass of the prequential protocol (docs/numbers.md) ranks with all features and with each one
left out. Differences are means over users.
"""

import asyncio
from collections.abc import Iterable
from enum import IntEnum
from pathlib import Path

from benchmarks.quality.ml100k import SEED
from propagation.adapters.offline.embedder import HashedEmbedder
from propagation.datasets.load import load_dataset
from propagation.evaluation.kernels.arms import ARMS, BASE, FACTORS, KNN, LIFTS, LIVE, Arms
from propagation.evaluation.protocols.metrics import pair_up
from propagation.evaluation.protocols.passes import N10, run_pass, schedule_prequential
from propagation.evaluation.stream import EvaluationSettings, build_stream
from propagation.numbers.rules import Feature

REPORTED_FROM = 0.4


def list_arms() -> Arms:
    """List the live arm, and arms that leave something out."""
    live = tuple(ARMS[LIVE])
    arms: dict[str, tuple[IntEnum, ...]] = {"all features": live}
    for feature in (*BASE, *KNN, *FACTORS, *LIFTS):
        arms[f"without {Feature(feature).name.lower()}"] = _leave_out(live, [feature])
    for name, group in (("kNN", KNN), ("factors", FACTORS), ("lifts", LIFTS)):
        arms[f"without both {name}"] = _leave_out(live, group)
    return arms


def _leave_out(features: Iterable[IntEnum], left_out: Iterable[IntEnum]) -> tuple[IntEnum, ...]:
    kept = set(left_out)
    return tuple(feature for feature in features if feature not in kept)


def main(folder: str, events: str | None = None) -> None:
    """Measure a folder's data set and print one line for each arm."""
    dataset = load_dataset(Path(folder), SEED).first(int(events) if events else None)
    stream = build_stream(dataset).shuffle(1)
    embedder = HashedEmbedder(SEED)
    embedder.restore(embedder.fit(stream.item_texts, 1))
    content = asyncio.run(embedder.embed(stream.item_texts))
    attributes = asyncio.run(embedder.embed(stream.attribute_texts))
    arms = list_arms()
    ranked = run_pass(
        stream,
        schedule_prequential(stream, 1),
        content,
        attributes,
        EvaluationSettings(),
        1,
        lambda done: None,
        arms,
    )
    late = ranked.select(slice(int(REPORTED_FROM * len(stream.user)), None))
    late = late.select_with_past().select_ranked()
    for place, name in enumerate(arms):
        own = late.values[:, place, N10]
        pair = pair_up(own, late.values[:, 0, N10], late.user)
        assert pair is not None, "there are ranked events"
        t = "" if pair.t is None else f" (t = {pair.t:.1f})"
        print(f"{name:28} {own.mean():.4f}  {pair.mean:+.4f}{t}", flush=True)
