"""N@10 and HR@1 of a target against drawn negatives, exact over all draws."""

import numpy as np
from numba import njit
from numpy.typing import NDArray

DRAWN, DRAWN_MANY = 9, 99
CUTOFF = 10


def log_factorials(largest: int) -> NDArray[np.float64]:
    """Return ln 0! to ln largest!."""
    return np.concatenate(
        [np.zeros(1), np.cumsum(np.log(np.arange(1, largest + 1, dtype=np.float64)))]
    )


@njit(cache=True)
def _log_choose(logs, n, k):
    return logs[n] - logs[k] - logs[n - k]


@njit(cache=True)
def expected(above, ties, others, draws, logs):
    """Return the expected (N@10, HR@1) of a target over all draws of negatives.

    Args:
        above: Candidates with a higher score than the target.
        ties: Candidates with an equal score; either order has the same chance.
        others: All candidates but the target.
        draws: Negatives drawn without replacement (all, if there are fewer).
        logs: Logarithms of factorials.
    """
    drawn = min(draws, others)
    gain, hit = 0.0, 0.0
    for higher in range(above, above + ties + 1):
        for beaten in range(max(0, drawn - (others - higher)), min(drawn, higher, CUTOFF - 1) + 1):
            chance = np.exp(
                _log_choose(logs, higher, beaten)
                + _log_choose(logs, others - higher, drawn - beaten)
                - _log_choose(logs, others, drawn)
            )
            gain += chance / np.log2(2.0 + beaten)
            if beaten == 0:
                hit += chance
    return gain / (ties + 1), hit / (ties + 1)
