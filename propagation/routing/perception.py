"""Perception at a bootstrap (RecNet 2.2.1): each attribute goes to the nearest centre.

No router has a profile yet. Afterwards the routing policy perceives: eq. 2, the most similar
router, is `SemanticPolicy.perceive`; the default is `AdoptionPolicy.perceive`.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from propagation.arrays import F32
from propagation.ports import Embedder
from propagation.routing.policy import Arrival


@dataclass
class CentrePerception:
    """Sends each attribute to the router of its nearest centre (RecNet 2.2.1).

    Args:
        centres: Unit rows [K, D]; row k is router k of the taste bank.
    """

    embedder: Embedder
    centres: F32

    async def perceive(self, arrivals: Sequence[Arrival]) -> Sequence[Sequence[int]]:
        names = sorted({arrival.attribute for arrival in arrivals})
        routers = dict(zip(names, await self.nearest(names), strict=True))
        return [
            [] if (router := routers[arrival.attribute]) is None else [router]
            for arrival in arrivals
        ]

    async def nearest(self, names: Sequence[str]) -> list[int | None]:
        """Find the router of each attribute; None for one without a vector."""
        return [
            int(np.argmax(self.centres @ vector)) if vector.any() else None
            for vector in await self.embedder.embed(names)
        ]
