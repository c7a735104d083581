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
    """A vector [D] f32 under a key: a client's ref, a router's number, or an attribute's name.
    `version` is what it was made from; an older one never replaces a newer. `attributes` is what
    eq. 4's test is made on."""

    key: int | str
    version: int
    vector: NDArray[np.float32]
    attributes: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Hit:
    key: int | str
    score: float


def check_vector(vector: NDArray[np.float32], dimension: int, what: str) -> None:
    """What every adapter refuses before anything else. Raises ValueError: one vector that is not
    finite would come first everywhere, or empty each query that meets it."""
    if vector.shape != (dimension,):
        raise ValueError(
            f"{what}: the vector has shape {vector.shape}, the index {dimension} dimensions"
        )
    if not np.isfinite(vector).all():
        raise ValueError(f"{what}: the vector holds NaN or infinity")


class IndexWriter(Protocol):
    """What takes points. Every call raises IndexUnavailable where the index cannot be reached, or
    has lost its collections."""

    async def upsert(self, collection: Collection, points: Sequence[Point]) -> None:
        """Visible to the next query. Raises ValueError on a vector that is not finite or of another
        dimension, and writes none of the call's points then."""

    async def delete(self, collection: Collection, keys: Sequence[int | str]) -> None: ...

    async def versions(self, collection: Collection) -> dict[int | str, int]:
        """Every point's version: what the start-up comparison looks at."""


class IndexSuccessor(IndexWriter, Protocol):
    """An index being made beside the one that is served."""

    async def publish(self) -> None:
        """In one step everything that asks the index is answered from this one, in this process and
        in others; the points of before are dropped."""


class VectorIndex(IndexWriter, Protocol):
    async def ensure_collections(self, embedder: str, dimension: int) -> bool:
        """First of all calls but `successor` (what needs an index raises IndexUnavailable before
        it): collections exist, for this embedder and dimension; whether some were made now, and are
        empty. Processes that make them at the same time may make too many. Raises
        IncompatibleSettings naming `propagation reindex` where they were made for others,
        IndexUnavailable where it cannot be reached; then it may be called again."""

    async def nearest(
        self, collection: Collection, vector: NDArray[np.float32], limit: int
    ) -> Sequence[Hit]:
        """At most `limit` points, exactly those of largest cosine; order (-score, key). Raises
        ValueError on a vector that is not finite or of another dimension; a vector of zeros has
        cosine 0 with everything."""

    async def search_above(
        self,
        collection: Collection,
        vector: NDArray[np.float32],
        tau: float,
        sharing: frozenset[str],
    ) -> Sequence[Hit]:
        """Eq. 4: all points with cosine > tau that share an attribute with `sharing`; none left
        out; order (-score, key)."""

    async def vectors(
        self, collection: Collection, keys: Sequence[int | str]
    ) -> dict[int | str, NDArray[np.float32]]:
        """The points' vectors, as unit vectors; keys without a point are left out."""

    async def create_successor(self, embedder: str, dimension: int) -> IndexSuccessor:
        """An empty one for this embedder and dimension, for `reindex`; this index is served
        meanwhile, and keeps taking points. One that was never published is dropped. May be called
        in place of `ensure`."""

    async def close(self) -> None: ...
