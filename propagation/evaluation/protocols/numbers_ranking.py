"""The protocols that rank by the numbers: prequential and leave-last-one-out.

Prequential: each event is tested, then learned, in time order. Leave-last-one-out: each user's last
event is ranked and never learned.

Source: docs/numbers.md, "Protocol".
"""

import time
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise

import numpy as np

from propagation.evaluation.kernels.arms import RANKINGS
from propagation.evaluation.protocols.metrics import (
    Figures,
    StreamReport,
    arm_level,
    arm_report,
    compute_slices,
    find_median_pass,
)
from propagation.evaluation.protocols.passes import (
    N10,
    PassResult,
    Schedule,
    find_last_of_each_user,
    leave_one_out,
    run_passes,
    schedule_prequential,
    shuffle_histories,
)
from propagation.evaluation.stream import EvaluationSettings, Stream
from propagation.model import InvalidInput
from propagation.ports import FittableEmbedder

# Takes a seed, a key of KNOWING, and the events that were ranked.
Keep = Callable[[int, str, PassResult], None]


class Report(StreamReport, Figures):
    """The result of a prequential evaluation.

    Args:
        reported_from: First event (0-based) of the reported slice.
        ranked: How many events the figures are of. First events of users, of whom nothing is known,
            count only in a slice.
        future_share: The share (0 to 1) of the negatives that their user takes later.
        over_time: N@10 of each arm on equal stretches that end at `ends`.
    """

    reported_from: int
    ranked: int
    future_share: float
    ends: Sequence[int]
    over_time: Mapping[str, Sequence[float | None]]


async def evaluate_prequential(
    stream: Stream,
    embedder: FittableEmbedder,
    settings: EvaluationSettings,
    *,
    commit: str = "",
    progress: Callable[[int, int], None] = lambda done, total: None,
    keep: Keep = lambda seed, known, ranked: None,
    reported: int | None = None,
) -> Report:
    """Evaluate every arm on a stream.

    One pass runs for each seed, on all cores. The embedder is fitted on the stream's catalogue.

    Args:
        progress: Called with (events done, events in all), from another thread.
        keep: Called with the ranked events of each seed.
        reported: The seed whose pass is reported; None: the median one.

    Raises:
        InvalidInput: There is nothing to rank.
    """
    started = time.monotonic()
    passes, embedders = await run_passes(
        stream,
        embedder,
        settings,
        lambda shuffled, _: [schedule_prequential(shuffled, settings.every)],
        progress,
    )
    events = len(stream.user)
    # By default the first 40% of the events are only learned.
    start = 2 * events // 5 if settings.report_from is None else min(settings.report_from, events)
    late = [one.select(slice(start, None)).select_ranked() for one in passes]
    for seed, one in zip(settings.seeds, late, strict=True):
        keep(seed, "moment", one)
    place = (
        find_median_pass([one.select_with_past() for one in late])
        if reported is None
        else settings.seeds.index(reported)
    )
    shown = late[place].select_with_past()
    edges = np.linspace(0, events, settings.plot_points + 1).astype(int).tolist()
    stretches = [passes[place].select(slice(*ends)).select_with_past() for ends in pairwise(edges)]
    report = Report(
        dataset=stream.name,
        users=stream.users,
        items=stream.items,
        events=events,
        seed=settings.seeds[place],
        notes=stream.notes,
        reported_from=start,
        ranked=len(shown.user),
        future_share=float(shown.future.sum() / max(shown.negatives.sum(), 1)),
        settings=settings,
        embedder=embedders[place],
        arms=[arm_report(name, shown) for name in RANKINGS],
        slices=compute_slices(late[place]),
        ends=edges[1:],
        over_time={
            name: [arm_level(name, N10, stretch) for stretch in stretches] for name in RANKINGS
        },
        seconds=time.monotonic() - started,
        commit=commit,
    )
    if not report.ranked:
        raise InvalidInput(
            "events",
            f"from event {report.reported_from:,} of {stream.name} on, no event can be ranked: each"
            " repeats an item that its user had, or leaves no unseen item to compare with",
        )
    return report


KNOWING = {
    "end": "after all else",
    "moment": "at the target's own moment",
    "shuffled": "after all else, histories shuffled",
}


class Setting(Figures):
    """Figures for one state of knowledge, a key of KNOWING."""

    name: str
    targets: int


class LeaveOneOutReport(StreamReport):
    """The result of the median seed.

    The median is that of the live arm's N@10 if all other events are known (KNOWING's "end").
    """

    known: Sequence[Setting]

    def setting(self, name: str) -> Setting:
        """Return the figures for a key of KNOWING.

        Raises:
            KeyError: `name` is no key of KNOWING.
        """
        return {setting.name: setting for setting in self.known}[name]


async def evaluate_leave_one_out(
    stream: Stream,
    embedder: FittableEmbedder,
    settings: EvaluationSettings,
    *,
    commit: str = "",
    progress: Callable[[int, int], None] = lambda done, total: None,
    keep: Keep = lambda seed, known, ranked: None,
) -> LeaveOneOutReport:
    """Evaluate every arm, two passes a seed, on all cores.

    The embedder is fitted on the stream's catalogue. A seed breaks ties in time, and the target is
    the last event in that order.

    Args:
        progress: Called with (events done, events in all), from another thread.
        keep: Called with the ranked events of each seed and key of KNOWING.

    Raises:
        InvalidInput: There is nothing to rank.
    """
    started = time.monotonic()
    ranked, embedders = await run_passes(stream, embedder, settings, _draw_schedules, progress)
    events = len(stream.user)
    # Each seed has two passes: with the histories as they are, then with shuffled ones.
    plain, shuffled = ranked[::2], ranked[1::2]
    known = {
        "end": [one.select(slice(events, None)).select_ranked() for one in plain],
        "moment": [one.select(slice(events)).select_ranked() for one in plain],
        "shuffled": [one.select(slice(events, None)).select_ranked() for one in shuffled],
    }
    for name, of_seeds in known.items():
        for seed, one in zip(settings.seeds, of_seeds, strict=True):
            keep(seed, name, one)
    place = find_median_pass(known["end"])
    return LeaveOneOutReport(
        dataset=stream.name,
        users=stream.users,
        items=stream.items,
        events=events,
        seed=settings.seeds[place],
        notes=stream.notes,
        settings=settings,
        embedder=embedders[place],
        known=[
            Setting(
                name=name,
                targets=len(known[name][place].user),
                arms=[arm_report(arm, known[name][place]) for arm in RANKINGS],
                slices=compute_slices(known[name][place]),
            )
            for name in KNOWING
        ],
        seconds=time.monotonic() - started,
        commit=commit,
    )


def _draw_schedules(stream: Stream, seed: int) -> Sequence[Schedule]:
    targets = find_last_of_each_user(stream)
    return [
        leave_one_out(stream, targets),
        leave_one_out(shuffle_histories(stream, targets, seed), targets),
    ]
