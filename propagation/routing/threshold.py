"""tau of eq. 4. The paper's .7 to .9 (3.1.4) belong to its own encoder; ours is a quantile of our
own cosines."""

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

QUANTILE = 0.9
PAIRS_MAX = 1_000_000
NEVER = 1.0


class Threshold(Protocol):
    async def tau(self) -> float:
        """Clients of a cosine above it are reached."""


class AbsoluteTau:
    """tau as an operator set it, in -1..1."""

    def __init__(self, tau: float) -> None:
        self._tau = tau

    async def tau(self) -> float:
        return self._tau


def quantile_tau(routers: NDArray[np.float32], clients: NDArray[np.float32], seed: int) -> float:
    """The .90 quantile of cos(e_R, e_c) over all pairs of routers [K, D] and clients [n, D] (unit
    rows), before the attribute test; over a seeded sample of clients above a million pairs. 1
    (nobody is reached) without a pair."""
    if not len(routers) or not len(clients):
        return NEVER
    most = max(PAIRS_MAX // len(routers), 1)
    if len(clients) > most:
        clients = clients[
            np.sort(np.random.default_rng(seed).choice(len(clients), most, replace=False))
        ]
    return float(np.quantile(clients @ routers.T, QUANTILE))
