"""The report of an evaluation: a table's rows, the bench's keys, JSON."""

import platform
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from statistics import median

import numpy as np
from numpy.typing import NDArray
from pydantic import JsonValue

from propagation.evaluation.arms import RANKINGS
from propagation.evaluation.metrics import Paired, level, over_time, paired
from propagation.evaluation.settings import EvaluationSettings
from propagation.evaluation.stream import Stream
from propagation.model.base import Term

N10, HR1, MATCHED_N10 = 0, 1, 2


class ArmReport(Term):
    """Medians over the seeds: event means of N@10, HR@1, N@10 against negatives of the target's kind (adopted before or not),
    and the paired user means of N@10 against `off` and `offk`."""

    name: str
    n10: float | None
    hr1: float | None
    n10_matched: float | None
    against_off: Paired | None
    against_offk: Paired | None


class Report(Term):
    """What was measured, on what, by what. `over_time`: N@10 of each arm on equal stretches that end at `ends`."""

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
    over_time: Mapping[str, Sequence[float | None]]
    seconds: float
    commit: str
    python: str = platform.python_version()
    finished: datetime

    def arm(self, name: str) -> ArmReport:
        """Raises KeyError for an arm that was not run."""
        return {arm.name: arm for arm in self.arms}[name]

    def keys(self) -> dict[str, JsonValue]:
        """The figures under the names of `make bench`."""
        delta = self.arm("adoption").against_off
        return {"n10_off": self.arm("off").n10, "n10_placebo": self.arm("placebo").n10, "n10_adoption": self.arm("adoption").n10,
                "delta": delta.mean if delta else None, "delta_t": delta.t if delta else None, "n10_offk": self.arm("offk").n10,
                "n10_offk_adoption": self.arm("offk_adoption").n10}


def reported(stream: Stream, settings: EvaluationSettings, passes: Sequence[tuple[NDArray[np.int64], NDArray[np.float64]]],
             embedder: str, seconds: float, commit: str) -> Report:
    """A report of (user [E], measures [E,R,4]) per seed."""
    start = settings.first_reported(len(stream.user))
    curves = [[over_time(values[:, place, N10], settings.plot_points) for _, values in passes] for place in range(len(RANKINGS))]
    return Report(
        dataset=stream.name, users=stream.users, items=stream.items, events=len(stream.user), reported_from=start,
        ranked=int((~np.isnan(passes[0][1][start:, 0, N10])).sum()), settings=settings, embedder=embedder,
        arms=[_arm(name, place, start, passes) for place, name in enumerate(RANKINGS)],
        ends=curves[0][0][0],
        over_time={name: [_median(points) for points in zip(*(means for _, means in curves[place]), strict=True)]
                   for place, name in enumerate(RANKINGS)},
        seconds=seconds, commit=commit, finished=datetime.now(UTC))


def _arm(name: str, place: int, start: int, passes: Sequence[tuple[NDArray[np.int64], NDArray[np.float64]]]) -> ArmReport:
    late = [(user[start:], values[start:]) for user, values in passes]

    def middle(measure: int) -> float | None:
        return _median([level(values[:, place, measure]) for _, values in late])

    def against(other: str) -> Paired | None:
        base = RANKINGS.index(other)
        return _middle_pair([paired(values[:, place, N10], values[:, base, N10], user) for user, values in late])

    return ArmReport(name=name, n10=middle(N10), hr1=middle(HR1), n10_matched=middle(MATCHED_N10),
                     against_off=None if name == "off" else against("off"),
                     against_offk=None if name == "offk" else against("offk"))


def _median(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return median(known) if known else None


def _middle_pair(pairs: Sequence[Paired | None]) -> Paired | None:
    known = [pair for pair in pairs if pair is not None]
    if not known:
        return None
    return Paired(mean=median(pair.mean for pair in known), t=_median([pair.t for pair in known]))
