"""The vector index of the laptop deployment: exact search with NumPy."""

from collections.abc import Sequence

import numpy as np
import orjson
from numpy.typing import NDArray

from propagation.adapters.numpy.collections import PointStore, Shelves
from propagation.model import IncompatibleSettings, IndexUnavailable
from propagation.ports import Collection, Hit, IndexSuccessor, Point


class NumpyIndex:
    """VectorIndex in memory; the point store's description names the served generation."""

    def __init__(self, points: PointStore) -> None:
        self._points = points
        self._served: Shelves | None = None

    async def ensure_collections(self, embedder: str, dimension: int) -> bool:
        kept = await self._points.get_description()
        made = orjson.loads(_description(embedder, dimension, 0) if kept is None else kept)
        if (made["embedder"], made["dimension"]) != (embedder, dimension):
            raise IncompatibleSettings(
                f"embedder: the vector index was made with {made['embedder']} "
                f"({made['dimension']} dimensions), now it is"
                f" {embedder} ({dimension}); go back to that one, or run `propagation reindex`"
            )
        shelves = Shelves(self._points, dimension, made.get("generation", 0))
        if kept is None:
            await self._points.describe(
                _description(embedder, dimension, shelves.generation), shelves.names
            )
        await shelves.load()
        self._served = shelves
        return kept is None

    async def upsert(self, collection: Collection, points: Sequence[Point]) -> None:
        await self._shelves().upsert(collection, points)

    async def delete(self, collection: Collection, keys: Sequence[int | str]) -> None:
        await self._shelves().delete(collection, keys)

    async def nearest(
        self, collection: Collection, vector: NDArray[np.float32], limit: int
    ) -> Sequence[Hit]:
        return await self._shelves().nearest(collection, vector, limit)

    async def search_above(
        self,
        collection: Collection,
        vector: NDArray[np.float32],
        tau: float,
        sharing: frozenset[str],
    ) -> Sequence[Hit]:
        return await self._shelves().search_above(collection, vector, tau, sharing)

    async def vectors(
        self, collection: Collection, keys: Sequence[int | str]
    ) -> dict[int | str, NDArray[np.float32]]:
        return await self._shelves().vectors(collection, keys)

    async def versions(self, collection: Collection) -> dict[int | str, int]:
        return await self._shelves().versions(collection)

    async def create_successor(self, embedder: str, dimension: int) -> IndexSuccessor:
        kept = await self._points.get_description()
        served = 0 if kept is None else orjson.loads(kept).get("generation", 0)
        if kept is not None:
            await self._points.describe(kept, Shelves(self._points, dimension, served).names)
        return _NumpySuccessor(self, self._points, embedder, dimension, served + 1)

    def serve(self, shelves: Shelves) -> None:
        """Answer from these collections from now on."""
        self._served = shelves

    def _shelves(self) -> Shelves:
        if self._served is None:
            raise IndexUnavailable("the vector index was not found yet; it is looked for again")
        return self._served

    async def close(self) -> None:
        """Release nothing: the caller that opened the point store closes it."""


class _NumpySuccessor(Shelves):
    """Collections that are not served yet."""

    def __init__(
        self, index: NumpyIndex, points: PointStore, embedder: str, dimension: int, generation: int
    ) -> None:
        super().__init__(points, dimension, generation)
        self._index = index
        self._description = _description(embedder, dimension, generation)

    async def publish(self) -> None:
        await self._points.describe(self._description, self.names)
        self._index.serve(self)


def _description(embedder: str, dimension: int, generation: int) -> bytes:
    return orjson.dumps(
        {"embedder": embedder, "dimension": dimension, "generation": generation},
        option=orjson.OPT_SORT_KEYS,
    )
