"""The vector index, which can be rebuilt from the graph.

Each of its points has a version.
"""

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from propagation.model import ClientKind, IncompatibleSettings


class Collection(StrEnum):
    """The four sets of points of an index."""

    ATTRIBUTES = "attributes"
    USERS = "users"
    ITEMS = "items"
    ROUTERS = "routers"


COLLECTIONS = {ClientKind.USER: Collection.USERS, ClientKind.ITEM: Collection.ITEMS}
"""The collection of each kind of client."""


@dataclass(frozen=True)
class Point:
    """A vector with its key.

    Attributes:
        key: A client's ref, a router's number, or an attribute's name.
        version: Version of the text that the vector was made from; an older point never replaces
            a newer one.
        vector: [D] f32.
        attributes: The attributes that eq. 4 tests.
    """

    key: int | str
    version: int
    vector: NDArray[np.float32]
    attributes: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Hit:
    """A point that a search found, with its cosine (-1 to 1)."""

    key: int | str
    score: float


def check_vector(vector: NDArray[np.float32], dimension: int, what: str) -> None:
    """Check a vector's length and that it is finite.

    A vector with NaN would come first everywhere, or empty every search that meets it.

    Args:
        what: Names the vector in the error.

    Raises:
        ValueError: The vector cannot be used.
    """
    if vector.shape != (dimension,):
        raise ValueError(
            f"{what}: the vector has shape {vector.shape}, the index {dimension} dimensions"
        )
    if not np.isfinite(vector).all():
        raise ValueError(f"{what}: the vector holds NaN or infinity")


def check_embedder(made: tuple[str, int], embedder: str, dimension: int) -> None:
    """Check that an index was made with this embedder.

    Its name and dimension tell.

    Raises:
        IncompatibleSettings: It was made with another.
    """
    if made != (embedder, dimension):
        raise IncompatibleSettings(
            f"embedder: the vector index was made with {made[0]} ({made[1]} dimensions), now it is"
            f" {embedder} ({dimension}); go back to that one, or run `propagation reindex`"
        )


def normalize_rows(vectors: NDArray[np.floating[Any]]) -> NDArray[np.float32]:
    """Scale rows [n, D] to length 1; rows of zeros stay."""
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    return (vectors / np.where(norms > 0, norms, 1)).astype(np.float32, copy=False)


class IndexWriter(Protocol):
    """Takes points.

    Every method raises IndexUnavailable if the index cannot be reached or lost its collections.
    """

    async def upsert(self, collection: Collection, points: Sequence[Point]) -> None:
        """Store points, visible to the next search.

        Raises:
            ValueError: A vector is not finite or has another dimension; no point was stored.
        """

    async def delete(self, collection: Collection, keys: Sequence[int | str]) -> None:
        """Remove the points of these keys; unknown keys are ignored."""

    async def get_versions(self, collection: Collection) -> dict[int | str, int]:
        """Return every point's version, to compare the index with the graph."""


class VectorIndex(IndexWriter, Protocol):
    """Exact search by cosine in four collections."""

    async def find_collections(self, embedder: str, dimension: int) -> bool:
        """Look for the collections; comes before all other calls except `rebuild`.

        May be called again after it failed. Other calls raise IndexUnavailable before it. Missing
        collections come from `rebuild`, complete, so that no search meets half of one.

        Args:
            embedder: Name of the embedder whose vectors the index holds.
            dimension: Their length.

        Returns:
            Whether all collections are there.

        Raises:
            IncompatibleSettings: The collections belong to another embedder or dimension; the
                message names `propagation reindex`.
            IndexUnavailable: The index cannot be reached.
        """

    async def find_nearest(
        self, collection: Collection, vector: NDArray[np.float32], limit: int
    ) -> Sequence[Hit]:
        """Find the `limit` points of largest cosine, exactly.

        They are ordered by descending score, then key.

        A vector of zeros has cosine 0 with every point.

        Raises:
            ValueError: The vector is not finite or has another dimension.
        """

    async def search_above(
        self,
        collection: Collection,
        vector: NDArray[np.float32],
        tau: float,
        sharing: frozenset[str],
    ) -> Sequence[Hit]:
        """Find all points with cosine > tau that share an attribute.

        Args:
            sharing: Attributes, of which a point has at least one.

        Returns:
            Every such point, by descending score, then key.

        Source: RecNet eq. 4.
        """

    async def get_vectors(
        self, collection: Collection, keys: Sequence[int | str]
    ) -> dict[int | str, NDArray[np.float32]]:
        """Return the vectors of these keys at length 1.

        Keys without a point are left out.
        """

    def rebuild(self, embedder: str, dimension: int) -> AbstractAsyncContextManager[IndexWriter]:
        """Fill an empty index inside the context.

        `reindex` uses it, and so does a start that misses the index.

        Meanwhile the present index is served and takes points. At the end of the context all
        searches of all processes are served from the new one, and the old points are dropped. A
        new index whose context failed is dropped later. May be called without `find_collections`.
        """

    async def close(self) -> None:
        """Release connections."""
