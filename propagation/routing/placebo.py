"""The placebo: adoption routing whose routers' identities are shuffled for each client. What it
gains over no propagation is chance, and what adoption gains over it is community
(OFFLINE_ROUTING.md, "Controls")."""

from collections.abc import Callable, Sequence

import numpy as np

from propagation.routing.adoption_policy import AdoptionPolicy, TasteWeights, Weights
from propagation.routing.policy import Arrival


class ShuffledReading:
    """Another reading, each client's routers renamed by a permutation of those that `routers` says
    there are, seeded by the client."""

    def __init__(
        self, reading: TasteWeights, routers: Callable[[], Sequence[int]], seed: int
    ) -> None:
        self._reading = reading
        self._routers = routers
        self._seed = seed

    async def of_clients(self, refs: Sequence[int], count: int) -> Sequence[Weights]:
        return [
            self._shuffled(ref, weights)
            for ref, weights in zip(refs, await self._reading.of_clients(refs, count), strict=True)
        ]

    async def of_arrivals(self, arrivals: Sequence[Arrival]) -> Sequence[Weights]:
        return [
            self._shuffled(arrival.ref, weights)
            for arrival, weights in zip(
                arrivals, await self._reading.of_arrivals(arrivals), strict=True
            )
        ]

    def _shuffled(self, ref: int, weights: Weights) -> Weights:
        routers = self._routers()
        names = dict(
            zip(routers, np.random.default_rng((self._seed, ref)).permutation(routers), strict=True)
        )
        return [(int(names[router]), weight) for router, weight in weights]


class PlaceboPolicy(AdoptionPolicy):
    name = "placebo"

    def __init__(
        self,
        reading: TasteWeights,
        table_edges: int,
        routers: Callable[[], Sequence[int]],
        seed: int,
    ) -> None:
        super().__init__(ShuffledReading(reading, routers, seed), table_edges)
