"""The prequential protocol: test, then learn, in time order (docs/numbers.md, "Protocol")."""

import time
from collections.abc import AsyncGenerator, Callable
from functools import partial

from propagation.evaluation.parallel import Pass, run_in_parallel
from propagation.evaluation.protocols.one_pass import item_vectors, prequential, run_pass
from propagation.evaluation.reports.report import Report, make_report
from propagation.evaluation.settings import EvaluationSettings
from propagation.evaluation.stream import Stream
from propagation.model.errors import InvalidInput
from propagation.ports.embedder import FittableEmbedder


async def evaluate_prequential(
    stream: Stream,
    embedder: FittableEmbedder,
    settings: EvaluationSettings,
    *,
    commit: str = "",
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Report:
    """Evaluate every arm on a stream, one pass a seed, on all cores.

    The embedder is fitted on the stream's catalogue.

    Args:
        progress: Called with (events done, events in all), from another thread.

    Raises:
        InvalidInput: There is nothing to rank.
    """
    stream.check()
    begun = time.monotonic()

    async def passes() -> AsyncGenerator[Pass, None]:
        for seed in settings.seeds:
            shuffled = stream.shuffled(seed)
            content, attributes = await item_vectors(shuffled, embedder, seed)
            yield partial(
                run_pass,
                shuffled,
                prequential(shuffled, settings.every),
                content,
                attributes,
                settings,
                seed,
            )

    ranked = await run_in_parallel(passes(), len(settings.seeds), len(stream.user), progress)
    report = make_report(stream, settings, ranked, embedder.name, time.monotonic() - begun, commit)
    if not report.ranked:
        raise InvalidInput(
            "events",
            f"of {stream.name}, from event {report.reported_from:,} on, none can be ranked: each"
            " is a repeat of what its user had, or leaves nothing unseen to compare with",
        )
    return report
