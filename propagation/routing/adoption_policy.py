"""Adoption routing, the default policy: communities are learned from who adopts what.

Source: `docs/numbers.md`.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from propagation.model import RouterVersion
from propagation.routing.policy import Arrival
from propagation.routing.routing_table import RoutingTable

ROUTERS_AN_ARRIVAL = 3
Weights = Sequence[tuple[int, float]]


class TasteWeights(Protocol):
    """Learned taste routers with their weights, largest first."""

    async def compute_client_weights(self, refs: Sequence[int], count: int) -> Sequence[Weights]:
        """Return each client's `count` largest weights.

        Returns:
            pi for users and lift for items; () for an unknown client.
        """

    async def read_arrival_weights(self, arrivals: Sequence[Arrival]) -> Sequence[Weights]:
        """Return the weights that each arrival's interaction wrote.

        Returns:
            q of rule 5; () if the interaction wrote nothing.
        """


@dataclass
class AdoptionPolicy:
    """Routes by taste weights.

    An attribute goes to the three routers that its interaction wrote most to. If the interaction
    wrote nothing, the attribute goes to the three routers of the client's largest weights. A client
    is reached by the `table_edges` routers of its largest weights.
    """

    name = "adoption"
    weights: TasteWeights
    table_edges: int

    async def perceive(self, arrivals: Sequence[Arrival]) -> Sequence[Sequence[int]]:
        written = await self.weights.read_arrival_weights(arrivals)
        without = sorted(
            {arrival.ref for arrival, weights in zip(arrivals, written, strict=True) if not weights}
        )
        own = dict(
            zip(
                without,
                await self.weights.compute_client_weights(without, ROUTERS_AN_ARRIVAL),
                strict=True,
            )
        )
        return [
            [router for router, _ in (weights or own[arrival.ref])[:ROUTERS_AN_ARRIVAL]]
            for arrival, weights in zip(arrivals, written, strict=True)
        ]

    async def route(
        self, changed: Sequence[int], versions: Sequence[RouterVersion]
    ) -> RoutingTable:
        weights = await self.weights.compute_client_weights(changed, self.table_edges)
        # In a thread: thousands of clients may have changed.
        return await asyncio.to_thread(_build_table, changed, weights)

    async def measure(self) -> None:
        """Do nothing: the numbers are learned."""


def _build_table(changed: Sequence[int], weights: Sequence[Weights]) -> RoutingTable:
    return RoutingTable(
        scores={
            (router, ref): score
            for ref, row in zip(changed, weights, strict=True)
            for router, score in row
        },
        clients=changed,
    )
