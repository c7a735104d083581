"""Leave-last-one-out: each user's last event is ranked and never learned (docs/method.md)."""

import platform
import time
from collections.abc import AsyncGenerator, Callable, Sequence
from datetime import UTC, datetime
from functools import partial

import numpy as np
from numpy.typing import NDArray
from pydantic import JsonValue

from propagation.evaluation.kernels.arms import RANKINGS
from propagation.evaluation.protocols.metrics import N10, ArmReport, Slice, arm_report, slices_of
from propagation.evaluation.protocols.one_pass import (
    Ranked,
    histories_shuffled,
    item_vectors,
    last_of_each_user,
    leave_one_out,
    run_pass,
)
from propagation.evaluation.protocols.parallel import Pass, run_in_parallel
from propagation.evaluation.settings import EvaluationSettings
from propagation.evaluation.stream import Stream
from propagation.model import Term
from propagation.ports import FittableEmbedder

KNOWING = {
    "end": "after all else",
    "moment": "at the target's own moment",
    "shuffled": "after all else, histories shuffled",
}
PASSES_A_SEED = 2
LIVE = "offk_adoption"


class Setting(Term):
    """Figures for one state of knowledge, a key of KNOWING.

    Args:
        targets: Of the first seed.
    """

    name: str
    targets: int
    arms: Sequence[ArmReport]
    slices: Sequence[Slice]

    def arm(self, name: str) -> ArmReport:
        """Return an arm's figures.

        Raises:
            KeyError: The arm was not run.
        """
        return {arm.name: arm for arm in self.arms}[name]


class LeaveOneOutReport(Term):
    """The result; figures are medians over the seeds."""

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
        """Return the figures for a key of KNOWING.

        Raises:
            KeyError: It is no such key.
        """
        return {setting.name: setting for setting in self.known}[name]

    def keys(self) -> dict[str, JsonValue]:
        """Return the figures under the names of `make bench-life`."""
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
    """Evaluate every arm, two passes a seed, on all cores.

    The embedder is fitted on the stream's catalogue. A seed breaks ties in time, and the target is
    the last event in that order.

    Args:
        progress: Called with (events done, events in all), from another thread.

    Raises:
        InvalidInput: There is nothing to rank.
    """
    stream.check()
    begun = time.monotonic()
    at_moments: list[NDArray[np.bool_]] = []
    at_ends: list[NDArray[np.bool_]] = []

    async def passes() -> AsyncGenerator[Pass, None]:
        for seed in settings.seeds:
            shuffled = stream.shuffled(seed)
            content, attributes = await item_vectors(shuffled, embedder, seed)
            targets = last_of_each_user(shuffled)
            for variant in (shuffled, histories_shuffled(shuffled, targets, seed)):
                schedule, at_moment, at_end = leave_one_out(variant, targets)
                at_moments.append(at_moment)
                at_ends.append(at_end)
                yield partial(run_pass, variant, schedule, content, attributes, settings, seed)

    events = len(stream.user) + int(last_of_each_user(stream).sum())
    ranked = await run_in_parallel(passes(), PASSES_A_SEED * len(settings.seeds), events, progress)
    last = [one.at(rows) for one, rows in zip(ranked, at_ends, strict=True)]
    current = [one.at(rows) for one, rows in zip(ranked, at_moments, strict=True)]
    # Of each seed the first pass has the histories as they are, the second shuffled ones.
    known = {
        "end": last[::PASSES_A_SEED],
        "moment": current[::PASSES_A_SEED],
        "shuffled": last[1::PASSES_A_SEED],
    }
    return LeaveOneOutReport(
        dataset=stream.name,
        users=stream.users,
        items=stream.items,
        events=len(stream.user),
        settings=settings,
        embedder=embedder.name,
        known=[_setting(name, known[name]) for name in KNOWING],
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
