"""The prequential protocol (OFFLINE_ROUTING.md, "The protocol"): test, then learn, in time order; every arm in one pass."""

import asyncio
import time
from collections.abc import Callable

from propagation.evaluation.report import Report, reported
from propagation.evaluation.run import item_vectors, run_pass
from propagation.evaluation.schedule import prequential
from propagation.evaluation.settings import EvaluationSettings
from propagation.evaluation.stream import Stream
from propagation.ports.embedder import FittableEmbedder


async def evaluate_prequential(stream: Stream, embedder: FittableEmbedder, settings: EvaluationSettings, *, commit: str = "",
                               progress: Callable[[int, int], None] = lambda done, total: None) -> Report:
    """Evaluate every arm on a stream, one pass a seed, off the event loop. The embedder is fitted on the stream's catalogue.
    `progress` hears (events done, events in all), from another thread. Raises InvalidInput where there is nothing to rank."""
    stream.check()
    begun = time.monotonic()
    passes = []
    for number, seed in enumerate(settings.seeds):
        shuffled = stream.shuffled(seed)
        content, attributes = await item_vectors(shuffled, embedder, seed)
        passes.append(await asyncio.to_thread(run_pass, shuffled, prequential(shuffled, settings.every), content, attributes,
                                              settings, seed, in_all(progress, number, len(settings.seeds), len(stream.user))))
    return reported(stream, settings, passes, embedder.name, time.monotonic() - begun, commit)


def in_all(progress: Callable[[int, int], None], number: int, passes: int, events: int) -> Callable[[int], None]:
    """The progress of one pass as progress of all."""
    return lambda done: progress(number * events + done, passes * events)
