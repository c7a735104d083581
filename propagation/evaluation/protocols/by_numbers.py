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
    N10,
    Figures,
    StreamReport,
    arm_level,
    arm_report,
    slices_of,
)
from propagation.evaluation.protocols.passes import (
    Schedule,
    histories_shuffled,
    last_of_each_user,
    leave_one_out,
    prequential,
    run_passes,
)
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
    passes = await run_passes(
        stream,
        embedder,
        settings,
        lambda shuffled, _: [prequential(shuffled, settings.every)],
        progress,
    )
    events = len(stream.user)
    # By default the first 40% only teach.
    start = 2 * events // 5 if settings.report_from is None else min(settings.report_from, events)
    late = [one.at(slice(start, None)) for one in passes]
    edges = np.linspace(0, events, settings.plot_points + 1).astype(int).tolist()
    stretches = [[one.at(slice(*ends)) for one in passes] for ends in pairwise(edges)]
    report = Report(
        dataset=stream.name,
        users=stream.users,
        items=stream.items,
        events=events,
        reported_from=start,
        ranked=int((~np.isnan(late[0].values[:, 0, N10])).sum()),
        settings=settings,
        embedder=embedder.name,
        arms=[arm_report(name, late) for name in RANKINGS],
        slices=slices_of(late),
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
            f"of {stream.name}, from event {report.reported_from:,} on, none can be ranked: each"
            " is a repeat of what its user had, or leaves nothing unseen to compare with",
        )
    return report


KNOWING = {
    "end": "after all else",
    "moment": "at the target's own moment",
    "shuffled": "after all else, histories shuffled",
}


class Setting(Figures):
    """Figures for one state of knowledge, a key of KNOWING.

    Args:
        targets: Of the first seed.
    """

    name: str
    targets: int


class LeaveOneOutReport(StreamReport):
    """The result; figures are medians over the seeds."""

    known: Sequence[Setting]

    def setting(self, name: str) -> Setting:
        """Return the figures for a key of KNOWING.

        Raises:
            KeyError: It is no such key.
        """
        return {setting.name: setting for setting in self.known}[name]


async def evaluate_leave_one_out(
    stream: Stream,
    embedder: FittableEmbedder,
    settings: EvaluationSettings,
    *,
    commit: str = "",
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> LeaveOneOutReport:
    """Evaluate every arm, two passes a seed, on all cores.

    The embedder is fitted on the stream's catalogue. A seed breaks ties in time, and the target is
    the last event in that order.

    Args:
        progress: Called with (events done, events in all), from another thread.

    Raises:
        InvalidInput: There is nothing to rank.
    """
    started = time.monotonic()
    ranked = await run_passes(stream, embedder, settings, _schedules, progress)
    events = len(stream.user)
    # Of each seed the first pass has the histories as they are, the second shuffled ones.
    plain, shuffled = ranked[::2], ranked[1::2]
    known = {
        "end": [one.at(slice(events, None)) for one in plain],
        "moment": [one.at(slice(events)) for one in plain],
        "shuffled": [one.at(slice(events, None)) for one in shuffled],
    }
    return LeaveOneOutReport(
        dataset=stream.name,
        users=stream.users,
        items=stream.items,
        events=events,
        settings=settings,
        embedder=embedder.name,
        known=[
            Setting(
                name=name,
                targets=int((~np.isnan(known[name][0].values[:, 0, N10])).sum()),
                arms=[arm_report(arm, known[name]) for arm in RANKINGS],
                slices=slices_of(known[name]),
            )
            for name in KNOWING
        ],
        seconds=time.monotonic() - started,
        commit=commit,
    )


def _schedules(stream: Stream, seed: int) -> Sequence[Schedule]:
    targets = last_of_each_user(stream)
    mixed = histories_shuffled(stream, targets, seed)
    return [leave_one_out(stream, targets), leave_one_out(mixed, targets)]
