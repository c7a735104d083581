"""N@k of a target, in expectation.

The expectation is over draws, and over the order of equal scores.
"""

from functools import cache, lru_cache

import numpy as np

from propagation.arrays import F64, I64
from propagation.evaluation.kernels.arms import log_factorials

CUTS = (1, 5, 10)
MANY = 99
"""Of how many items the second figure of N@10 is."""
KEPT = 100_000


def find_invalid(scores: F64) -> F64:
    """Return for each ranking whether the method gave no usable answer, [Q]."""
    invalid: F64 = np.asarray(np.isnan(scores).any(axis=1), np.float64)
    return invalid


def rate_rankings(scores: F64, place: I64) -> F64:
    """Return N@1, N@5 and N@10 of each ranking, [Q,3].

    They are 0 for a ranking without a usable answer. Equal scores share their ranks.

    Args:
        scores: [Q,C].
        place: [Q] of the target.
    """
    out = np.zeros((len(scores), len(CUTS)))
    for row, (some, target) in enumerate(zip(scores, place.tolist(), strict=True)):
        if np.isnan(some).any():
            continue
        own, pool = float(some[target]), len(some) - 1
        better, equal = int((some > own).sum()), int((some == own).sum()) - 1
        out[row] = [expect_gain(better, equal, pool, pool, cut) for cut in CUTS]
    return out


def rate_against_pool(scores: F64, target: int, pool: I64, negatives: int) -> list[float]:
    """Return N@1, N@5 and N@10 against drawn items, and N@10 against MANY.

    They are expectations over all draws; NaN where the pool has too few items.

    Args:
        scores: [items].
        target: The row of the target; `pool` has those of the items that may be drawn.
    """
    others = scores[pool]
    better = int((others > scores[target]).sum())
    equal = int((others == scores[target]).sum())
    pairs = [*((negatives, cut) for cut in CUTS), (MANY, CUTS[-1])]
    return [
        expect_gain(better, equal, len(others), drawn, cut) if drawn <= len(others) else np.nan
        for drawn, cut in pairs
    ]


@lru_cache(maxsize=KEPT)  # equal counts come often; 0.4 ms with 1,600 ties
def expect_gain(better: int, equal: int, pool: int, drawn: int, cut: int) -> float:
    """Return the expected N@cut of a target among drawn items.

    `compute_expected` of the evaluation's kernels computes N@10 and HR@1 alike, compiled.

    Args:
        better: How many items of the pool have a higher score than the target; `equal` have its
            score, and are above or below it by chance.
        pool: How many items may be drawn.
        drawn: How many are drawn, without replacement.
    """
    above = np.arange(better, better + equal + 1)
    return float(_expect_gains(above, pool, drawn, cut).mean())


def _expect_gains(above: I64, pool: int, drawn: int, cut: int) -> F64:
    """Return the expected N@cut for each number of better items, [A]."""
    counts = np.arange(min(cut, drawn + 1))
    logs = _load_log_factorials(pool)

    def log_choose(total: I64, chosen: I64) -> F64:
        possible = (chosen >= 0) & (chosen <= total)
        inside = np.where(possible, chosen, 0)
        size = np.maximum(total, 0)
        found = logs[size] - logs[inside] - logs[size - inside]
        return np.where(possible, found, -np.inf)

    chances = np.exp(
        log_choose(above[:, None], counts)
        + log_choose(pool - above[:, None], drawn - counts)
        - log_choose(np.array([pool]), np.array([drawn]))
    )
    gains: F64 = chances @ (1 / np.log2(counts + 2))
    return gains


_load_log_factorials = cache(log_factorials)
