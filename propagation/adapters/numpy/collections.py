"""All collections of the index, in memory and in the store that keeps their points."""

import asyncio
import threading
from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from propagation.adapters.numpy.collection import Shelf
from propagation.ports import Collection, Hit, Point, check_vector

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
    """One generation of collections, served or being built.

    Points go to the store first, so that what a query finds survives a crash. Each reindex counts
    `generation` up.
    """

    def __init__(self, points: PointStore, dimension: int, generation: int) -> None:
        self.generation = generation
        self._points = points
        self._dimension = dimension
        self._shelves = {collection: Shelf(dimension) for collection in Collection}
        self._lock = threading.Lock()

    @property
    def names(self) -> list[str]:
        """Return the names under which the point store keeps them."""
        return [self._name(collection) for collection in Collection]

    async def load(self) -> None:
        for collection in Collection:
            await self._put(collection, await self._points.load_points(self._name(collection)))

    async def upsert(self, collection: Collection, points: Sequence[Point]) -> None:
        for point in points:
            check_vector(point.vector, self._dimension, f"{collection} {point.key!r}")
        if points:
            await self._points.put_points(self._name(collection), points)
            await self._put(collection, points)

    async def delete(self, collection: Collection, keys: Sequence[int | str]) -> None:
        await self._points.drop_points(self._name(collection), keys)
        await self._run(collection, lambda shelf: shelf.drop(keys))

    async def nearest(
        self, collection: Collection, vector: NDArray[np.float32], limit: int
    ) -> Sequence[Hit]:
        check_vector(vector, self._dimension, "the query")
        return await self._run(collection, lambda shelf: shelf.nearest(vector, limit))

    async def search_above(
        self,
        collection: Collection,
        vector: NDArray[np.float32],
        tau: float,
        sharing: frozenset[str],
    ) -> Sequence[Hit]:
        check_vector(vector, self._dimension, "the query")
        return await self._run(collection, lambda shelf: shelf.search_above(vector, tau, sharing))

    async def vectors(
        self, collection: Collection, keys: Sequence[int | str]
    ) -> dict[int | str, NDArray[np.float32]]:
        return await self._run(collection, lambda shelf: shelf.vectors(keys))

    async def versions(self, collection: Collection) -> dict[int | str, int]:
        return await self._run(collection, Shelf.versions)

    async def _put(self, collection: Collection, points: Sequence[Point]) -> None:
        await self._run(collection, lambda shelf: shelf.put(points))

    def _name(self, collection: Collection) -> str:
        return f"{collection}/{self.generation}" if self.generation else str(collection)

    async def _run(self, collection: Collection, work: Callable[[Shelf], T]) -> T:
        """Run work on a thread, one at a time."""

        def locked() -> T:
            with self._lock:
                return work(self._shelves[collection])

        return await asyncio.to_thread(locked)
