"""Leave-last-one-out (OFFLINE_ROUTING.md, "Leave-last-one-out"): each user's last event is ranked
and never learned."""

import platform
import time
from collections.abc import AsyncGenerator, Callable, Sequence
from datetime import UTC, datetime
from functools import partial

import numpy as np
from numpy.typing import NDArray
from pydantic import JsonValue

from propagation.evaluation.kernels.arms import RANKINGS
from propagation.evaluation.parallel import Pass, side_by_side
from propagation.evaluation.protocols.arm_report import N10, ArmReport, arm_report
from propagation.evaluation.protocols.cold_start import Slice, slices_of
from propagation.evaluation.protocols.event_schedule import (
    histories_shuffled,
    last_of_each_user,
    leave_one_out,
)
from propagation.evaluation.protocols.one_pass import Ranked, item_vectors, run_pass
from propagation.evaluation.settings import EvaluationSettings
from propagation.evaluation.stream import Stream
from propagation.model.base import Term
from propagation.ports.embedder import FittableEmbedder

KNOWING = {
    "end": "after all else",
    "moment": "at the target's own moment",
    "shuffled": "after all else, histories shuffled",
}
PASSES_A_SEED = 2
LIVE = "offk_adoption"


class Setting(Term):
    """What was known when the targets were ranked: a key of KNOWING. `targets`: of the first seed."""

    name: str
    targets: int
    arms: Sequence[ArmReport]
    slices: Sequence[Slice]

    def arm(self, name: str) -> ArmReport:
        """Raises KeyError for an arm that was not run."""
        return {arm.name: arm for arm in self.arms}[name]


class LeaveOneOutReport(Term):
    """What was measured, on what, by what; figures are medians over the seeds."""

    dataset: str
    users: int
    items: int
    events: int
    settings: EvaluationSettings
    embedder: str
    known: Sequence[Setting]
    seconds: float
    commit: str
    python: str = platform.python_version()
    finished: datetime

    def setting(self, name: str) -> Setting:
        """Raises KeyError for anything but the keys of KNOWING."""
        return {setting.name: setting for setting in self.known}[name]

    def keys(self) -> dict[str, JsonValue]:
        """The figures under the names of `make bench-life`: the live default's levels, and adoption
        and placebo less off."""
        end, shuffled = self.setting("end"), self.setting("shuffled")
        gain, placebo = end.arm("adoption").against_off, end.arm("placebo").against_off
        return {
            "loo_n10_10": end.arm(LIVE).n10,
            "loo_n10_100": end.arm(LIVE).n10_of_100,
            "loo_shuffled_n10_10": shuffled.arm(LIVE).n10,
            "loo_delta_10": gain.mean if gain else None,
            "loo_placebo_delta_10": placebo.mean if placebo else None,
        }


async def evaluate_leave_one_out(
    stream: Stream,
    embedder: FittableEmbedder,
    settings: EvaluationSettings,
    *,
    commit: str = "",
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> LeaveOneOutReport:
    """Evaluate every arm, two passes a seed, on all cores. The embedder is fitted on the stream's
    catalogue. Ties in time are broken by seed, and the target is the last event in that order.
    `progress` hears (events done, events in all) from another thread. Raises InvalidInput where
    there is nothing to rank."""
    stream.check()
    begun = time.monotonic()
    told_of: list[tuple[NDArray[np.bool_], NDArray[np.bool_]]] = []

    async def passes() -> AsyncGenerator[Pass, None]:
        for seed in settings.seeds:
            shuffled = stream.shuffled(seed)
            content, attributes = await item_vectors(shuffled, embedder, seed)
            targets = last_of_each_user(shuffled)
            for told in (shuffled, histories_shuffled(shuffled, targets, seed)):
                schedule, at_moment, at_end = leave_one_out(told, targets)
                told_of.append((at_moment, at_end))
                yield partial(run_pass, told, schedule, content, attributes, settings, seed)

    events = len(stream.user) + int(last_of_each_user(stream).sum())
    ranked = await side_by_side(passes(), PASSES_A_SEED * len(settings.seeds), events, progress)
    found: dict[str, list[Ranked]] = {name: [] for name in KNOWING}
    for number, (one, (at_moment, at_end)) in enumerate(zip(ranked, told_of, strict=True)):
        if number % PASSES_A_SEED:
            found["shuffled"].append(one.at(at_end))
        else:
            found["end"].append(one.at(at_end))
            found["moment"].append(one.at(at_moment))
    return LeaveOneOutReport(
        dataset=stream.name,
        users=stream.users,
        items=stream.items,
        events=len(stream.user),
        settings=settings,
        embedder=embedder.name,
        known=[_setting(name, of) for name, of in found.items()],
        seconds=time.monotonic() - begun,
        commit=commit,
        finished=datetime.now(UTC),
    )


def _setting(name: str, passes: Sequence[Ranked]) -> Setting:
    return Setting(
        name=name,
        targets=int((~np.isnan(passes[0].values[:, 0, N10])).sum()),
        arms=[arm_report(arm, passes) for arm in RANKINGS],
        slices=slices_of(passes),
    )
