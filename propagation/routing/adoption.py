"""Adoption routing: communities learned from who adopts what (OFFLINE_ROUTING.md). The default policy."""

from collections.abc import Sequence
from typing import Protocol

from propagation.model.router import RouterVersion
from propagation.routing.policy import Arrival, Table

PERCEIVING = 3


class TasteReading(Protocol):
    """What this policy reads of the numbers, per client: its largest taste routers, by weight."""

    async def taste_weights(self, refs: Sequence[int], count: int) -> Sequence[Sequence[tuple[int, float]]]:
        """For users the largest of pi, for items the largest lifts."""


class AdoptionPolicy:
    """Perception: the client's three largest taste routers. Table: its `table_edges` largest."""

    name = "adoption"

    def __init__(self, reading: TasteReading, table_edges: int) -> None:
        self._reading = reading
        self._table_edges = table_edges

    async def perceive(self, arrivals: Sequence[Arrival]) -> Sequence[Sequence[int]]:
        refs = sorted({arrival.ref for arrival in arrivals})
        weights = dict(zip(refs, await self._reading.taste_weights(refs, PERCEIVING), strict=True))
        return [[router for router, _ in weights[arrival.ref]] for arrival in arrivals]

    async def route(self, changed: Sequence[int], versions: Sequence[RouterVersion]) -> Table:
        weights = await self._reading.taste_weights(changed, self._table_edges)
        return Table(scores={(router, ref): score for ref, row in zip(changed, weights, strict=True) for router, score in row},
                     clients=changed)
