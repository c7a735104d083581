"""The vector index: versioned points, which can be rebuilt from the graph."""

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

import numpy as np

from propagation.model import F32, F64, ClientKind, IncompatibleSettings


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
    vector: F32
    attributes: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Hit:
    """A point that a search found, with its cosine (-1 to 1)."""

    key: int | str
    score: float


def check_vector(vector: F32, dimension: int, what: str) -> None:
    """Check a vector's length and that it is finite.

    A vector with NaN would come first in every search, or empty every search that meets it.

    Args:
        dimension: The length that the vector must have.
        what: Names the vector in the error.

    Raises:
        ValueError: The vector cannot be used.
    """
    if vector.shape != (dimension,):
        raise ValueError(
            f"{what}: the vector has shape {vector.shape}, but the index has {dimension} dimensions"
        )
    if not np.isfinite(vector).all():
        raise ValueError(f"{what}: the vector holds NaN or infinity")


def check_embedder(made: tuple[str, int], embedder: str, dimension: int) -> None:
    """Check that an index was made with this embedder.

    Args:
        made: Name and dimension of the embedder that the index was made with.
        embedder: Name of the present embedder.
        dimension: Length of its vectors.

    Raises:
        IncompatibleSettings: The index was made with another embedder.
    """
    if made != (embedder, dimension):
        raise IncompatibleSettings(
            f"embedder: the vector index was made with {made[0]} ({made[1]} dimensions), but now"
            f" it is {embedder} ({dimension}); go back to the first, or run `propagation reindex`"
        )


def normalize_rows(vectors: F32 | F64) -> F32:
    """Scale rows [n, D] to length 1; rows of zeros stay."""
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    return (vectors / np.where(norms > 0, norms, 1)).astype(np.float32, copy=False)


class IndexWriter(Protocol):
    """Stores and removes points.

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
        """Look for the collections; call it first, unless you `rebuild`.

        Until it has succeeded, other calls raise IndexUnavailable. It may be called again after it
        failed. Only `rebuild` makes missing collections, and shows them once they are complete, so
        that no search meets half of one.

        Args:
            embedder: Name of the embedder whose vectors the index holds.
            dimension: Their length.

        Returns:
            Whether all collections exist.

        Raises:
            IncompatibleSettings: The collections belong to another embedder or dimension; the
                message names `propagation reindex`.
            IndexUnavailable: The index cannot be reached.
        """

    async def find_nearest(self, collection: Collection, vector: F32, limit: int) -> Sequence[Hit]:
        """Find the `limit` points of largest cosine, exactly.

        They are ordered by descending score, then key. A vector of zeros has cosine 0 with every
        point.

        Raises:
            ValueError: The vector is not finite or has another dimension.
        """

    async def search_above(
        self,
        collection: Collection,
        vector: F32,
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
    ) -> dict[int | str, F32]:
        """Return the vectors of these keys at length 1.

        Keys without a point are left out.
        """

    def rebuild(self, embedder: str, dimension: int) -> AbstractAsyncContextManager[IndexWriter]:
        """Fill an empty index inside the context.

        `reindex` uses it, and so does a start that finds no index. It may be called without
        `find_collections`.

        Inside the context, searches still use the present index, and it takes points. When the
        context ends, all searches of all processes use the new index, and the old points are
        dropped. If the context fails, the new index is dropped later.
        """

    async def close(self) -> None:
        """Release connections."""
