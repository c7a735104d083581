"""The judge of a plan, by its prediction of users' choices.

A plan goes live only if it predicts users' next choices about as well as the present routers do.

Prediction is eq. 6 and 7. The loss is that of the pairs (i+, i-) of a holdout, which
workflow/evolve/holdout.py replays. workflow/evolve/evolution.py publishes the plan.

Source: `docs/evolution.md`.
"""

import math
from dataclasses import dataclass

import numpy as np

from propagation.model import F32, F64, I64, pluralize
from propagation.numbers.rules import Combiner, Feature

LEAST_USERS = 2
LEAST_PLACES, MOST_PLACES = 4, 9


@dataclass(frozen=True)
class Verdict:
    """Log-loss on the holdout, before and after a plan.

    Attributes:
        users: How many users the means are over.
        interactions: How many of the held-out interactions had a prediction to judge by.
        held_out: How many interactions the holdout has.
        before: Mean over users of each user's mean loss, with the present routers.
        after: The same with the routers of the plan.
        standard_error: Standard error of the difference of both.
        saved: The log-loss that the plan may cost because it leaves fewer routers.
    """

    users: int
    interactions: int
    held_out: int
    before: float
    after: float
    standard_error: float
    saved: float = 0.0

    @property
    def published(self) -> bool:
        """Whether the loss grows by at most a standard error plus `saved`."""
        return self.after - self.before <= self.standard_error + self.saved

    @property
    def verdict(self) -> str:
        difference = self.after - self.before
        words = "no worse than" if self.published else "worse than"
        places = _count_decimals(difference, self.standard_error)
        saved = f", {self.saved:.{places}f} allowed for fewer routers" if self.saved else ""
        left_out = "" if self.interactions == self.held_out else " (the others had no prediction)"
        return (
            f"{words} the present routers: log-loss {self.before:.{places}f} becomes"
            f" {self.after:.{places}f} ({difference:+.{places}f}, one standard error is"
            f" {self.standard_error:.{places}f}{saved}) over {self.users:,} users and"
            f" {self.interactions:,} of the {pluralize(self.held_out, 'newest interaction')}"
            f"{left_out}"
        )


def _count_decimals(*values: float) -> int:
    """Choose how many decimals show each value as more than zero."""
    smallest = min((abs(value) for value in values if value), default=1.0)
    return min(max(LEAST_PLACES, 1 - math.floor(math.log10(smallest))), MOST_PLACES)


def compute_lift_slopes(weights: F64, deviation: float, user_bins: I64, item_bins: I64) -> F64:
    """Compute the effect of the taste bank's lift on each score.

    Args:
        weights: The combiner's weights of the feature [9].
        deviation: The deviation by which the feature is divided.
        user_bins: The combiner's bins of the users [n].
        item_bins: The combiner's bins of the items [n].

    Returns:
        How much one unit of lift adds to each score [n].
    """
    slopes: F64 = (weights[0] + weights[1 + user_bins] + weights[5 + item_bins]) / deviation
    return slopes


def compute_running_deviation(combiner: Combiner, feature: Feature) -> float:
    """Return the running deviation that a feature is divided by (rule 3)."""
    variance = combiner.moments[feature, 1] / combiner.seen[0] if combiner.seen[0] > 1 else 1.0
    return max(float(np.sqrt(variance)), float(combiner.least[feature]))


def judge(
    users: I64,
    scores: F32,
    before: F64,
    after: F64,
    slope: F64,
    held_out: int,
    fewer: int = 0,
) -> Verdict | None:
    """Compare a holdout's log-loss with the present and the planned routers.

    Args:
        users: User rows [H].
        scores: Scores of i+ and i-, as learn stored them [H, 2].
        before: The taste bank's lift of i+ and i- with the present routers [H, 2].
        after: The same with the plan's routers [H, 2].
        slope: How much a unit of that lift adds to each score [H, 2].
        held_out: Size of the holdout, at least H.
        fewer: How many superfluous routers the plan retires. Each saves ln(H) / 2H of loss: by the
            Bayesian information criterion, a parameter must explain that much.

    Returns:
        The verdict; None if fewer than two users have a prediction.
    """
    old = scores[:, 0].astype(np.float64) - scores[:, 1]
    new = old + ((after - before) * slope) @ np.array([1.0, -1.0])
    old_loss, new_loss = np.logaddexp(0, -old), np.logaddexp(0, -new)
    _, place, counts = np.unique(users, return_inverse=True, return_counts=True)
    if len(counts) < LEAST_USERS:
        return None
    one, other = (np.bincount(place, loss) / counts for loss in (old_loss, new_loss))
    error = float(np.std(other - one, ddof=1) / np.sqrt(len(counts)))
    saved = max(fewer, 0) * math.log(len(users)) / (2 * len(users))
    return Verdict(
        len(counts), len(users), held_out, float(one.mean()), float(other.mean()), error, saved
    )
