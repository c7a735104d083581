"""Threshold tau of multicast.

The paper's tau of .7 to .9 (3.1.4) belongs to its own encoder; the default here is a quantile of
the cosines that this embedder gives.

Source: RecNet 2.2.3, eq. 4.
"""

from typing import Protocol

import numpy as np

from propagation.arrays import F32

QUANTILE = 0.9
PAIRS_MAX = 1_000_000
UNREACHABLE = 1.0


class Threshold(Protocol):
    """The source of tau; workflow/rounds/policies.py has the one of a running system."""

    async def get_tau(self) -> float:
        """Return tau: clients of a larger cosine are reached."""

    async def measure(self) -> None:
        """Measure tau again, unless it is a fixed setting."""


def compute_quantile_tau(routers: F32, clients: F32, seed: int) -> float:
    """Measure the .90 quantile of the cosines of routers and clients.

    Args:
        routers: Unit rows [K, D].
        clients: Unit rows [n, D]; a seeded sample of them is used above a million pairs.
        seed: Seed of the sample.

    Returns:
        tau; 1, so that no client is reached, if there is no pair.
    """
    if not len(routers) or not len(clients):
        return UNREACHABLE
    most = max(PAIRS_MAX // len(routers), 1)
    if len(clients) > most:
        clients = clients[
            np.sort(np.random.default_rng(seed).choice(len(clients), most, replace=False))
        ]
    return float(np.quantile(clients @ routers.T, QUANTILE))
