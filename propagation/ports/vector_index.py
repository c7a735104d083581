"""The vector index: derived from the graph, rebuildable, versioned by point."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

import numpy as np
from numpy.typing import NDArray


class Collection(StrEnum):
    ATTRIBUTES = "attributes"
    USERS = "users"
    ITEMS = "items"
    ROUTERS = "routers"


@dataclass(frozen=True)
class Point:
    """A vector [D] f32 under a key: a client's ref, a router's number, or an attribute's name. `version` is what it was
    made from; an older one never replaces a newer. `attributes` is what eq. 4's test is made on."""

    key: int | str
    version: int
    vector: NDArray[np.float32]
    attributes: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Hit:
    key: int | str
    score: float


class VectorIndex(Protocol):
    async def ensure(self, embedder: str, dimension: int) -> None:
        """First of all calls: collections exist, for this embedder and dimension. Raises IncompatibleSettings naming
        `propagation reindex` where they were made for others."""

    async def upsert(self, collection: Collection, points: Sequence[Point]) -> None:
        """Visible to the next query. Raises ValueError on a vector that is not finite or of another dimension,
        and writes none of the call's points then."""

    async def delete(self, collection: Collection, keys: Sequence[int | str]) -> None: ...

    async def nearest(self, collection: Collection, vector: NDArray[np.float32], limit: int) -> Sequence[Hit]:
        """At most `limit` points, exactly those of largest cosine; order (-score, key). Raises ValueError on a vector that
        is not finite or of another dimension; a vector of zeros has cosine 0 with everything."""

    async def above(self, collection: Collection, vector: NDArray[np.float32], tau: float,
                    sharing: frozenset[str]) -> Sequence[Hit]:
        """Eq. 4: all points with cosine > tau that share an attribute with `sharing`; none left out;
        order (-score, key)."""

    async def vectors(self, collection: Collection, keys: Sequence[int | str]) -> dict[int | str, NDArray[np.float32]]:
        """The points' vectors, as unit vectors; keys without a point are left out."""

    async def versions(self, collection: Collection) -> dict[int | str, int]:
        """Every point's version: what the start-up comparison looks at."""

    async def drop(self, embedder: str, dimension: int) -> None:
        """Empty it and take it for this embedder from now on, for `reindex`; ready as after `ensure`."""
