"""The vector index of the laptop deployment: exact NumPy search, loaded from the graph's own file."""

import asyncio
import threading
from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np
import orjson
from numpy.typing import NDArray

from propagation.adapters.numpy.points import PointStore
from propagation.adapters.numpy.shelf import Shelf
from propagation.model.errors import IncompatibleSettings
from propagation.ports.vector_index import Collection, Hit, Point

T = TypeVar("T")


class NumpyIndex:
    """See ports/vector_index.py. Points go to the store first, so that what a query sees survives a crash."""

    def __init__(self, points: PointStore) -> None:
        self._points = points
        self._shelves: dict[Collection, Shelf] = {}
        self._dimension = 0
        self._lock = threading.Lock()

    async def ensure(self, embedder: str, dimension: int) -> None:
        kept = await self._points.get_description()
        wanted = orjson.dumps({"embedder": embedder, "dimension": dimension}, option=orjson.OPT_SORT_KEYS)
        if kept is None:
            await self._points.clear(wanted)
        elif kept != wanted:
            made = orjson.loads(kept)
            raise IncompatibleSettings(
                f"embedder: the vector index was made with {made['embedder']} ({made['dimension']} dimensions), now it is"
                f" {embedder} ({dimension}); go back to that one, or run `propagation reindex`")
        self._dimension = dimension
        self._shelves = {collection: Shelf(dimension) for collection in Collection}
        for collection, shelf in self._shelves.items():
            points = await self._points.load_points(collection)
            await self._run(lambda shelf=shelf, points=points: shelf.put(points))  # type: ignore[misc]

    async def upsert(self, collection: Collection, points: Sequence[Point]) -> None:
        for point in points:
            self._check(point.vector, f"{collection} {point.key!r}")
        if points:
            await self._points.put_points(collection, points)
            await self._run(lambda: self._shelves[collection].put(points))

    async def delete(self, collection: Collection, keys: Sequence[int | str]) -> None:
        await self._points.drop_points(collection, keys)
        await self._run(lambda: self._shelves[collection].drop(keys))

    async def nearest(self, collection: Collection, vector: NDArray[np.float32], limit: int) -> Sequence[Hit]:
        self._check(vector, "the query")
        return await self._run(lambda: self._shelves[collection].nearest(vector, limit))

    async def above(self, collection: Collection, vector: NDArray[np.float32], tau: float,
                    sharing: frozenset[str]) -> Sequence[Hit]:
        self._check(vector, "the query")
        return await self._run(lambda: self._shelves[collection].above(vector, tau, sharing))

    async def vectors(self, collection: Collection, keys: Sequence[int | str]) -> dict[int | str, NDArray[np.float32]]:
        return await self._run(lambda: self._shelves[collection].vectors(keys))

    async def versions(self, collection: Collection) -> dict[int | str, int]:
        return await self._run(lambda: self._shelves[collection].versions())

    async def drop(self, embedder: str, dimension: int) -> None:
        await self._points.clear(orjson.dumps({"embedder": embedder, "dimension": dimension}, option=orjson.OPT_SORT_KEYS))
        await self.ensure(embedder, dimension)

    def _check(self, vector: NDArray[np.float32], what: str) -> None:
        if vector.shape != (self._dimension,):
            raise ValueError(f"{what}: the vector has shape {vector.shape}, the index {self._dimension} dimensions")
        if not np.isfinite(vector).all():
            raise ValueError(f"{what}: the vector holds NaN or infinity")

    async def _run(self, work: Callable[[], T]) -> T:
        """Off the event loop, one at a time."""
        def locked() -> T:
            with self._lock:
                return work()

        return await asyncio.to_thread(locked)
