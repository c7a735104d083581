"""Semantic routing, the paper's own policy.

It is here for fidelity to the paper and for comparison.

Source: RecNet eq. 2 and 4.
"""

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass

from propagation.arrays import F32
from propagation.model import RouterVersion
from propagation.ports import Collection, Embedder, VectorIndex
from propagation.routing.multicast import Threshold, clients_above_threshold
from propagation.routing.policy import Arrival
from propagation.routing.routing_table import RoutingTable

log = logging.getLogger(__name__)


@dataclass
class SemanticPolicy:
    """Sends attributes to nearest routers, and messages to clients above tau."""

    name = "semantic"

    embedder: Embedder
    index: VectorIndex
    threshold: Threshold

    async def perceive(self, arrivals: Sequence[Arrival]) -> Sequence[Sequence[int]]:
        """Find R* = argmax_R cos(e_a, e_R); of equal ones the first.

        An attribute without a vector goes nowhere.

        Source: RecNet eq. 2.
        """
        names = sorted({arrival.attribute for arrival in arrivals})
        found = await asyncio.gather(
            *(self._nearest_router(vector) for vector in await self.embedder.embed(names))
        )
        routers = dict(zip(names, found, strict=True))
        return [routers[arrival.attribute] for arrival in arrivals]

    async def route(
        self, changed: Sequence[int], versions: Sequence[RouterVersion]
    ) -> RoutingTable:
        """Reach the clients that eq. 4 scores above tau."""
        vectors = await self.embedder.embed([version.text for version in versions])
        tau = await self.threshold.tau()
        rows = await asyncio.gather(
            *(
                clients_above_threshold(self.index, version, vector, tau)
                for version, vector in zip(versions, vectors, strict=True)
            )
        )
        scores = {key: score for row in rows for key, score in row.items()}
        if versions and not scores:
            log.warning(
                "a semantic round of %d routers reached nobody: no client that shares an attribute"
                " is nearer than tau = %.3f; lower the setting tau, or measure it again with"
                " `propagation reindex`",
                len(versions),
                tau,
            )
        return RoutingTable(scores=scores, routers=[version.router for version in versions])

    async def _nearest_router(self, vector: F32) -> list[int]:
        if not vector.any():
            return []
        return [int(hit.key) for hit in await self.index.nearest(Collection.ROUTERS, vector, 1)]
