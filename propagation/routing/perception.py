"""Perception: which router an attribute goes to.

At a bootstrap no router has a profile yet, and an attribute goes to the router whose centre is
nearest (RecNet 2.2.1). Later the routing policy decides: semantic routing chooses the most similar
router (RecNet eq. 2); the default policy is in adoption_policy.py.
"""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from propagation.arrays import F32
from propagation.ports import Collection, Embedder, VectorIndex
from propagation.routing.policy import Arrival


@dataclass
class NearestPerception(ABC):
    """Sends each attribute to the router that is nearest to it."""

    embedder: Embedder

    async def perceive(self, arrivals: Sequence[Arrival]) -> Sequence[Sequence[int]]:
        routers = await self.find_routers_of({arrival.attribute for arrival in arrivals})
        return [routers[arrival.attribute] for arrival in arrivals]

    async def find_routers_of(self, attributes: Iterable[str]) -> dict[str, list[int]]:
        """Find the router of each attribute.

        Returns:
            One router by attribute; an empty list for an attribute without a vector.
        """
        names = sorted(attributes)
        nearest = await self.find_nearest(await self.embedder.embed(names))
        return dict(zip(names, nearest, strict=True))

    @abstractmethod
    async def find_nearest(self, vectors: F32) -> list[list[int]]:
        """Find the nearest router of each attribute vector.

        Args:
            vectors: Vectors of attributes [n, D].

        Returns:
            One router for each vector; an empty list for a vector of zeros.
        """


@dataclass
class CentrePerception(NearestPerception):
    """Finds the nearest centre (RecNet 2.2.1).

    Args:
        centres: Unit rows [K, D]; row k is router k of the taste bank.
    """

    centres: F32

    async def find_nearest(self, vectors: F32) -> list[list[int]]:
        return [
            [int(np.argmax(self.centres @ vector))] if vector.any() else [] for vector in vectors
        ]


@dataclass
class SimilarityPerception(NearestPerception):
    """Finds R* = argmax_R cos(e_a, e_R), the first of equal ones.

    Source: RecNet eq. 2.
    """

    index: VectorIndex

    async def find_nearest(self, vectors: F32) -> list[list[int]]:
        return await asyncio.gather(*map(self._find_most_similar, vectors))

    async def _find_most_similar(self, vector: F32) -> list[int]:
        hits = await self.index.find_nearest(Collection.ROUTERS, vector, 1) if vector.any() else ()
        return [int(hit.key) for hit in hits]
