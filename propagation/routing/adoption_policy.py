"""Adoption routing: communities learned from who adopts what (OFFLINE_ROUTING.md). The default
policy."""

import asyncio
from collections.abc import Sequence
from typing import Protocol

from propagation.model.routers.router import RouterVersion
from propagation.routing.policy import Arrival, Table

PERCEIVING = 3
Weights = Sequence[tuple[int, float]]


class TasteWeights(Protocol):
    """What this policy reads of the numbers: taste routers with their weights, largest first."""

    async def of_clients(self, refs: Sequence[int], count: int) -> Sequence[Weights]:
        """Per client its `count` largest: for users of pi, for items of lift; () for one of whom
        nothing is known."""

    async def of_arrivals(self, arrivals: Sequence[Arrival]) -> Sequence[Weights]:
        """Per arrival what its interaction wrote by rule 5 (q, largest first); () where it wrote
        nothing or is none."""


class AdoptionPolicy:
    """Perception: the three largest taste weights of q, else of the client's own pi. Table: its
    `table_edges` largest."""

    name = "adoption"
    summarises = True

    def __init__(self, reading: TasteWeights, table_edges: int) -> None:
        self._reading = reading
        self._table_edges = table_edges

    async def perceive(self, arrivals: Sequence[Arrival]) -> Sequence[Sequence[int]]:
        written = await self._reading.of_arrivals(arrivals)
        alone = sorted(
            {arrival.ref for arrival, weights in zip(arrivals, written, strict=True) if not weights}
        )
        own = dict(zip(alone, await self._reading.of_clients(alone, PERCEIVING), strict=True))
        return [
            [router for router, _ in (weights or own[arrival.ref])[:PERCEIVING]]
            for arrival, weights in zip(arrivals, written, strict=True)
        ]

    async def route(self, changed: Sequence[int], versions: Sequence[RouterVersion]) -> Table:
        weights = await self._reading.of_clients(changed, self._table_edges)
        return await asyncio.to_thread(_table, changed, weights)


def _table(changed: Sequence[int], weights: Sequence[Weights]) -> Table:
    """Runs beside the loop: thousands of clients may have changed."""
    return Table(
        scores={
            (router, ref): score
            for ref, row in zip(changed, weights, strict=True)
            for router, score in row
        },
        clients=changed,
    )
