"""The first profiles (RecNet 2.2.1): at bootstrap each extracted attribute goes to the taste centre
it is nearest to."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from propagation.ports.embedder import Embedder
from propagation.routing.policy import Arrival


class CentrePerception:
    """Centres [K, D] f32, unit rows: row k is router k of the taste bank."""

    def __init__(self, embedder: Embedder, centres: NDArray[np.float32]) -> None:
        self._embedder = embedder
        self._centres = centres

    async def perceive(self, arrivals: Sequence[Arrival]) -> Sequence[Sequence[int]]:
        names = sorted({arrival.attribute for arrival in arrivals})
        routers = dict(zip(names, await self.nearest(names), strict=True))
        return [
            [] if (router := routers[arrival.attribute]) is None else [router]
            for arrival in arrivals
        ]

    async def nearest(self, names: Sequence[str]) -> list[int | None]:
        """The router of each attribute; None for one without a vector."""
        vectors = await self._embedder.embed(names)
        return [
            int(np.argmax(self._centres @ vector)) if vector.any() else None for vector in vectors
        ]
