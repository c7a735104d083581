"""The prequential protocol, and its report: test, then learn, in time order.

Source: docs/numbers.md, "Protocol".
"""

import time
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from propagation.evaluation.kernels.arms import RANKINGS
from propagation.evaluation.protocols.metrics import (
    N10,
    Figures,
    StreamReport,
    arm_report,
    over_time,
    seed_median,
    slices_of,
)
from propagation.evaluation.protocols.passes import Ranked, prequential, run_passes
from propagation.evaluation.stream import EvaluationSettings, Stream
from propagation.model import InvalidInput
from propagation.ports import FittableEmbedder


class Report(StreamReport, Figures):
    """The result, what it was measured on, and what produced it.

    Args:
        over_time: N@10 of each arm on equal stretches that end at `ends`.
    """

    reported_from: int
    ranked: int
    ends: Sequence[int]
    over_time: Mapping[str, Sequence[float | None]]


def make_report(
    stream: Stream,
    settings: EvaluationSettings,
    passes: Sequence[Ranked],
    embedder: str,
    seconds: float,
    commit: str,
) -> Report:
    """Make a report from one pass a seed."""
    start = settings.first_reported(len(stream.user))
    late = [one.at(slice(start, None)) for one in passes]
    curves = [
        [over_time(one.values[:, place, N10], settings.plot_points) for one in passes]
        for place in range(len(RANKINGS))
    ]
    return Report(
        dataset=stream.name,
        users=stream.users,
        items=stream.items,
        events=len(stream.user),
        reported_from=start,
        ranked=int((~np.isnan(late[0].values[:, 0, N10])).sum()),
        settings=settings,
        embedder=embedder,
        arms=[arm_report(name, late) for name in RANKINGS],
        slices=slices_of(late),
        ends=curves[0][0][0],
        over_time={
            name: [
                seed_median(points)
                for points in zip(*(means for _, means in curves[place]), strict=True)
            ]
            for place, name in enumerate(RANKINGS)
        },
        seconds=seconds,
        commit=commit,
    )


async def evaluate_prequential(
    stream: Stream,
    embedder: FittableEmbedder,
    settings: EvaluationSettings,
    *,
    commit: str = "",
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Report:
    """Evaluate every arm on a stream.

    One pass runs for each seed, on all cores. The embedder is fitted on the stream's catalogue.

    Args:
        progress: Called with (events done, events in all), from another thread.

    Raises:
        InvalidInput: There is nothing to rank.
    """
    started = time.monotonic()
    ranked = await run_passes(
        stream,
        embedder,
        settings,
        lambda shuffled, _: [prequential(shuffled, settings.every)],
        progress,
    )
    report = make_report(
        stream, settings, ranked, embedder.name, time.monotonic() - started, commit
    )
    if not report.ranked:
        raise InvalidInput(
            "events",
            f"of {stream.name}, from event {report.reported_from:,} on, none can be ranked: each"
            " is a repeat of what its user had, or leaves nothing unseen to compare with",
        )
    return report
