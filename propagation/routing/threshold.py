"""The threshold tau of multicast (RecNet eq. 4).

The paper's .7 to .9 (3.1.4) belong to its own encoder; the default here is a quantile of the
cosines that this embedder gives.
"""

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

QUANTILE = 0.9
PAIRS_MAX = 1_000_000
UNREACHABLE = 1.0


class Threshold(Protocol):
    """The source of tau.

    The source in workflow/rounds/policies.py fixes tau by epoch.
    """

    async def tau(self) -> float:
        """Return tau: clients of a larger cosine are reached."""


class FixedThreshold:
    """tau as an operator set it, in -1..1."""

    def __init__(self, tau: float) -> None:
        self._tau = tau

    async def tau(self) -> float:
        return self._tau


def quantile_tau(routers: NDArray[np.float32], clients: NDArray[np.float32], seed: int) -> float:
    """Measure the .90 quantile of the cosines of routers and clients.

    Args:
        routers: Unit rows [K, D].
        clients: Unit rows [n, D]; a seeded sample of them is used above a million pairs.
        seed: Of the sample.

    Returns:
        tau; 1, so that no client is reached, where there is no pair.
    """
    if not len(routers) or not len(clients):
        return UNREACHABLE
    most = max(PAIRS_MAX // len(routers), 1)
    if len(clients) > most:
        clients = clients[
            np.sort(np.random.default_rng(seed).choice(len(clients), most, replace=False))
        ]
    return float(np.quantile(clients @ routers.T, QUANTILE))
