"""The report of a prequential evaluation."""

import platform
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

import numpy as np
from pydantic import JsonValue

from propagation.evaluation.kernels.arms import RANKINGS
from propagation.evaluation.protocols.cold_start import Slice, slices_of
from propagation.evaluation.protocols.metrics import (
    N10,
    ArmReport,
    arm_report,
    over_time,
    seed_median,
)
from propagation.evaluation.protocols.one_pass import Ranked
from propagation.evaluation.settings import EvaluationSettings
from propagation.evaluation.stream import Stream
from propagation.model.base import Term


class Report(Term):
    """The result, what it was measured on, and what produced it.

    Args:
        slices: By how little was known (RecNet, Figure 6).
        over_time: N@10 of each arm on equal stretches that end at `ends`.
    """

    dataset: str
    users: int
    items: int
    events: int
    reported_from: int
    ranked: int
    settings: EvaluationSettings
    embedder: str
    arms: Sequence[ArmReport]
    ends: Sequence[int]
    slices: Sequence[Slice]
    over_time: Mapping[str, Sequence[float | None]]
    seconds: float
    commit: str
    python: str = platform.python_version()
    finished: datetime

    def arm(self, name: str) -> ArmReport:
        """Return an arm's figures.

        Raises:
            KeyError: The arm was not run.
        """
        return {arm.name: arm for arm in self.arms}[name]

    def keys(self) -> dict[str, JsonValue]:
        """Return the figures under the names of `make bench`."""
        delta = self.arm("adoption").against_off
        return {
            "n10_off": self.arm("off").n10,
            "n10_placebo": self.arm("placebo").n10,
            "n10_adoption": self.arm("adoption").n10,
            "delta": delta.mean if delta else None,
            "delta_t": delta.t if delta else None,
            "n10_offk": self.arm("offk").n10,
            "n10_offk_adoption": self.arm("offk_adoption").n10,
        }


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
        finished=datetime.now(UTC),
    )
