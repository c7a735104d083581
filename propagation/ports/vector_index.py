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
        """Collections exist for this embedder and dimension. Raises IncompatibleSettings naming `reindex` otherwise."""

    async def upsert(self, collection: Collection, points: Sequence[Point]) -> None:
        """Visible to the next query. Raises ValueError on a vector that is not finite or of another dimension,
        and writes none of the call's points then."""

    async def delete(self, collection: Collection, keys: Sequence[int | str]) -> None: ...

    async def nearest(self, collection: Collection, vector: NDArray[np.float32], limit: int) -> Sequence[Hit]:
        """Exact, by cosine; order (-score, key)."""

    async def above(self, collection: Collection, vector: NDArray[np.float32], tau: float,
                    sharing: frozenset[str]) -> Sequence[Hit]:
        """Eq. 4: all points with cosine > tau that share an attribute with `sharing`; none left out;
        order (-score, key)."""

    async def vectors(self, collection: Collection, keys: Sequence[int | str]) -> dict[int | str, NDArray[np.float32]]: ...

    async def versions(self, collection: Collection) -> dict[int | str, int]:
        """Every point's version: what the start-up comparison looks at."""

    async def drop(self) -> None:
        """Empty it, for `reindex`."""
