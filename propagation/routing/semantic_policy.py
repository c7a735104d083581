"""Semantic routing, as the paper has it (RecNet 2.2.2, eq. 2; 2.2.3, eq. 4): for fidelity and
comparison."""

import asyncio
import logging
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from propagation.model.routers.router import RouterVersion
from propagation.ports.embedder import Embedder
from propagation.ports.vector_index import Collection, VectorIndex
from propagation.routing.policy import Arrival, Table
from propagation.routing.threshold import Threshold

log = logging.getLogger(__name__)


class SemanticPolicy:
    """Each attribute to its one nearest router; each router's message to the clients nearer than
    tau."""

    name = "semantic"
    summarises = True

    def __init__(self, embedder: Embedder, index: VectorIndex, threshold: Threshold) -> None:
        self._embedder = embedder
        self._index = index
        self._threshold = threshold

    async def perceive(self, arrivals: Sequence[Arrival]) -> Sequence[Sequence[int]]:
        """Eq. 2: R* = argmax_R cos(e_a, e_R); of equal ones the first. An attribute without a
        vector goes nowhere."""
        names = sorted({arrival.attribute for arrival in arrivals})
        found = await asyncio.gather(
            *(self._nearest_router(vector) for vector in await self._embedder.embed(names))
        )
        routers = dict(zip(names, found, strict=True))
        return [routers[arrival.attribute] for arrival in arrivals]

    async def route(self, changed: Sequence[int], versions: Sequence[RouterVersion]) -> Table:
        """Eq. 4: Score(R, c) = cos(e_R, e_c) * [A_R and A_c share an attribute], where it is above
        tau."""
        vectors = await self._embedder.embed([version.text for version in versions])
        tau = await self._threshold.tau()
        rows = await asyncio.gather(
            *(
                self._reached(version, vector, tau)
                for version, vector in zip(versions, vectors, strict=True)
            )
        )
        scores = {key: score for row in rows for key, score in row.items()}
        if versions and not scores:
            log.warning(
                "a semantic round of %d routers reached nobody: no client that shares an attribute is nearer than"
                " tau = %.3f; lower the setting tau, or fix it anew with `propagation reindex`",
                len(versions),
                tau,
            )
        return Table(scores=scores, routers=[version.router for version in versions])

    async def _nearest_router(self, vector: NDArray[np.float32]) -> list[int]:
        if not vector.any():
            return []
        return [int(hit.key) for hit in await self._index.nearest(Collection.ROUTERS, vector, 1)]

    async def _reached(
        self, version: RouterVersion, vector: NDArray[np.float32], tau: float
    ) -> dict[tuple[int, int], float]:
        hits = await asyncio.gather(
            *(
                self._index.search_above(kind, vector, tau, frozenset(version.attributes))
                for kind in (Collection.USERS, Collection.ITEMS)
            )
        )
        return {(version.router, int(hit.key)): hit.score for found in hits for hit in found}
