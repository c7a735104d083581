"""The vector index of the laptop deployment: exact search with NumPy."""

import asyncio
import threading
from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

import numpy as np
import orjson
from numpy.typing import NDArray

from propagation.adapters.numpy.collection import Shelf
from propagation.model import IncompatibleSettings, IndexUnavailable
from propagation.ports import Collection, Hit, IndexSuccessor, Point, check_vector

T = TypeVar("T")


class PointStore(Protocol):
    """The port that keeps the index's points between runs, by (shelf, key)."""

    async def get_description(self) -> bytes | None:
        """Return the last description; None if nothing was ever kept."""

    async def describe(self, description: bytes, shelves: Sequence[str]) -> None:
        """Set the description and drop every point of other shelves, in one commit."""

    async def load_points(self, shelf: str) -> Sequence[Point]: ...

    async def put_points(self, shelf: str, points: Sequence[Point]) -> None:
        """Put points in one commit; a stored point of a newer version stays."""

    async def drop_points(self, shelf: str, keys: Sequence[int | str]) -> None: ...


class Shelves:
    """One generation of collections in memory. Each reindex counts `generation` up."""

    def __init__(self, points: PointStore, dimension: int, generation: int) -> None:
        self.dimension = dimension
        self._generation = generation
        self._points = points
        self._shelves = {collection: Shelf(dimension) for collection in Collection}
        self._lock = threading.Lock()

    @property
    def names(self) -> list[str]:
        """Return the names under which the point store keeps them."""
        return [self.name(collection) for collection in Collection]

    def name(self, collection: Collection) -> str:
        """Return the name under which the point store keeps a collection."""
        return f"{collection}/{self._generation}" if self._generation else str(collection)

    async def load(self) -> None:
        """Read all points of the point store."""
        for collection in Collection:
            await self.put(collection, await self._points.load_points(self.name(collection)))

    async def put(self, collection: Collection, points: Sequence[Point]) -> None:
        """Put points into memory."""
        await self.run(collection, lambda shelf: shelf.put(points))

    async def run(self, collection: Collection, work: Callable[[Shelf], T]) -> T:
        """Run work on a thread, one at a time."""

        def locked() -> T:
            with self._lock:
                return work(self._shelves[collection])

        return await asyncio.to_thread(locked)


class NumpyWriter:
    """Writes points (IndexWriter), first to the store: what a query finds survives a crash."""

    def __init__(self, points: PointStore, shelves: Shelves | None = None) -> None:
        self._points = points
        self._shelves = shelves

    async def upsert(self, collection: Collection, points: Sequence[Point]) -> None:
        shelves = self._found()
        for point in points:
            check_vector(point.vector, shelves.dimension, f"{collection} {point.key!r}")
        if points:
            await self._points.put_points(shelves.name(collection), points)
            await shelves.put(collection, points)

    async def delete(self, collection: Collection, keys: Sequence[int | str]) -> None:
        shelves = self._found()
        await self._points.drop_points(shelves.name(collection), keys)
        await shelves.run(collection, lambda shelf: shelf.drop(keys))

    async def versions(self, collection: Collection) -> dict[int | str, int]:
        return await self._found().run(collection, Shelf.versions)

    def _found(self) -> Shelves:
        if self._shelves is None:
            raise IndexUnavailable("the vector index was not found yet; it is looked for again")
        return self._shelves


class NumpyIndex(NumpyWriter):
    """VectorIndex in memory; the point store's description names the served generation."""

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
            await self._points.describe(_description(embedder, dimension, 0), shelves.names)
        await shelves.load()
        self._shelves = shelves
        return kept is None

    async def nearest(
        self, collection: Collection, vector: NDArray[np.float32], limit: int
    ) -> Sequence[Hit]:
        shelves = self._found()
        check_vector(vector, shelves.dimension, "the query")
        return await shelves.run(collection, lambda shelf: shelf.nearest(vector, limit))

    async def search_above(
        self,
        collection: Collection,
        vector: NDArray[np.float32],
        tau: float,
        sharing: frozenset[str],
    ) -> Sequence[Hit]:
        shelves = self._found()
        check_vector(vector, shelves.dimension, "the query")
        return await shelves.run(collection, lambda shelf: shelf.search_above(vector, tau, sharing))

    async def vectors(
        self, collection: Collection, keys: Sequence[int | str]
    ) -> dict[int | str, NDArray[np.float32]]:
        return await self._found().run(collection, lambda shelf: shelf.vectors(keys))

    async def create_successor(self, embedder: str, dimension: int) -> IndexSuccessor:
        kept = await self._points.get_description()
        served = 0 if kept is None else orjson.loads(kept).get("generation", 0)
        if kept is not None:
            await self._points.describe(kept, Shelves(self._points, dimension, served).names)
        shelves = Shelves(self._points, dimension, served + 1)
        description = _description(embedder, dimension, served + 1)
        return _NumpySuccessor(self, self._points, shelves, description)

    async def serve(self, shelves: Shelves, description: bytes) -> None:
        """Answer from these collections from now on, and drop all others."""
        await self._points.describe(description, shelves.names)
        self._shelves = shelves

    async def close(self) -> None:
        """Release nothing: the caller that opened the point store closes it."""


class _NumpySuccessor(NumpyWriter):
    """Collections that are not served yet."""

    def __init__(
        self, index: NumpyIndex, points: PointStore, shelves: Shelves, description: bytes
    ) -> None:
        super().__init__(points, shelves)
        self._index = index
        self._description = description

    async def publish(self) -> None:
        await self._index.serve(self._found(), self._description)


def _description(embedder: str, dimension: int, generation: int) -> bytes:
    return orjson.dumps(
        {"embedder": embedder, "dimension": dimension, "generation": generation},
        option=orjson.OPT_SORT_KEYS,
    )
