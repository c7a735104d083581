"""Semantic routing, the paper's own policy.

It is here for fidelity to the paper and for comparison.

Source: RecNet eq. 2 and 4.
"""

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass

from propagation.model import RouterVersion
from propagation.routing.multicast import find_clients_above_threshold
from propagation.routing.perception import SimilarityPerception
from propagation.routing.routing_table import RoutingTable
from propagation.routing.threshold import Threshold

log = logging.getLogger(__name__)


@dataclass
class SemanticPolicy(SimilarityPerception):
    """Sends attributes to similar routers, messages to clients above tau."""

    name = "semantic"

    threshold: Threshold

    async def route(
        self, changed: Sequence[int], versions: Sequence[RouterVersion]
    ) -> RoutingTable:
        """Reach the clients that eq. 4 scores above tau."""
        vectors = await self.embedder.embed([version.text for version in versions])
        tau = await self.threshold.get_tau()
        rows = await asyncio.gather(
            *(
                find_clients_above_threshold(self.index, version, vector, tau)
                for version, vector in zip(versions, vectors, strict=True)
            )
        )
        scores = {key: score for row in rows for key, score in row.items()}
        if versions and not scores:
            log.warning(
                "a semantic round of %d routers reached nobody: no client that shares an attribute"
                " scores above tau = %.3f; lower the setting tau, or measure it again with"
                " `propagation reindex`",
                len(versions),
                tau,
            )
        return RoutingTable(scores=scores, routers=[version.router for version in versions])

    async def measure(self) -> None:
        await self.threshold.measure()
