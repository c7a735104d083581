"""The vector index of the laptop deployment: exact search with NumPy."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import Protocol, TypeVar

import numpy as np
import orjson

from propagation.model import F32, I64, Array, IndexUnavailable
from propagation.ports import (
    Collection,
    Hit,
    Point,
    check_embedder,
    check_vector,
    normalize_rows,
)

FIRST_ROWS, FIRST_PLACES = 1_024, 4
NONE = 0  # the attribute number of an empty place
T = TypeVar("T")


class Shelf:
    """Rows of unit vectors [rows, D] f32 with keys, versions and attributes.

    Each attribute name has a number from 1 on. The array [rows, most attributes of a row] i32 holds
    the numbers of each row's attributes, and 0 in empty places. Not safe for several threads.
    """

    def __init__(self, dimension: int) -> None:
        self._vectors = np.zeros((FIRST_ROWS, dimension), np.float32)
        self._keys: list[int | str] = []
        self._versions: dict[int | str, int] = {}
        self._attributes = np.full((FIRST_ROWS, FIRST_PLACES), NONE, np.int32)
        self._numbers: dict[str, int] = {}
        self._row: dict[int | str, int] = {}

    def put(self, points: Sequence[Point]) -> None:
        """Put points in order, except those older than the stored ones."""
        self._make_room(len(points))
        rows, vectors = [], []
        for point in points:
            row = self._row.get(point.key)
            is_new = row is None
            if row is None:
                row = self._row[point.key] = len(self._keys)
                self._keys.append(point.key)
            elif point.version < self._versions[point.key]:
                continue
            self._versions[point.key] = point.version
            if point.attributes or not is_new:
                self._hold(row, point.attributes)
            rows.append(row)
            vectors.append(point.vector)
        if rows:  # if a key comes twice, its last vector stays
            self._vectors[rows] = normalize_rows(np.stack(vectors))

    def drop(self, keys: Sequence[int | str]) -> None:
        """Remove points; the last row takes the place of each."""
        for key in keys:
            row = self._row.pop(key, None)
            if row is None:
                continue
            del self._versions[key]
            moved = self._keys.pop()
            last = len(self._keys)
            if row != last:
                self._vectors[row] = self._vectors[last]
                self._attributes[row] = self._attributes[last]
                self._keys[row] = moved
                self._row[moved] = row
            self._attributes[last] = NONE  # the next new row takes this place

    def find_nearest(self, vector: F32, limit: int) -> list[Hit]:
        """Return the `limit` points of largest cosine, ordered by (-score, key)."""
        scores = self._compute_cosines(vector)
        if limit < 1 or not len(scores):
            return []
        place = max(len(scores) - limit, 0)
        bound = np.partition(scores, place)[place]
        return self._build_hits(np.flatnonzero(scores >= bound), scores)[:limit]

    def search_above(self, vector: F32, tau: float, sharing: frozenset[str]) -> list[Hit]:
        """Return all points with cosine > tau and a shared attribute.

        Args:
            sharing: A point must have at least one of these attributes.

        Returns:
            The points, ordered by (-score, key).
        """
        scores = self._compute_cosines(vector)
        shared = np.zeros(len(self._numbers) + 1, np.bool_)
        shared[[self._numbers[name] for name in sharing if name in self._numbers]] = True
        rows = np.flatnonzero(scores > tau)
        return self._build_hits(rows[shared[self._attributes[rows]].any(axis=1)], scores)

    def get_vectors(self, keys: Sequence[int | str]) -> dict[int | str, F32]:
        """Return copies of the unit vectors of the known keys."""
        return {key: self._vectors[self._row[key]].copy() for key in keys if key in self._row}

    def get_versions(self) -> dict[int | str, int]:
        """Return the version of every key."""
        return dict(self._versions)

    def _compute_cosines(self, vector: F32) -> F32:
        check_vector(vector, self._vectors.shape[1], "the query")
        norm = float(np.linalg.norm(vector))
        if norm == 0:
            return np.zeros(len(self._keys), np.float32)
        scores: F32 = self._vectors[: len(self._keys)] @ (vector / np.float32(norm))
        return np.clip(scores, -1, 1)

    def _build_hits(self, rows: I64, scores: F32) -> list[Hit]:
        found = sorted(
            zip((-scores[rows]).tolist(), [self._keys[row] for row in rows.tolist()], strict=True)
        )
        return [Hit(key=key, score=-score) for score, key in found]

    def _hold(self, row: int, attributes: frozenset[str]) -> None:
        """Replace the row's attributes."""
        numbers = [
            self._numbers.setdefault(name, len(self._numbers) + 1) for name in sorted(attributes)
        ]
        if len(numbers) > self._attributes.shape[1]:
            self._attributes = _with_room(self._attributes, len(self._attributes), 2 * len(numbers))
        self._attributes[row] = NONE
        self._attributes[row, : len(numbers)] = numbers

    def _make_room(self, more: int) -> None:
        rows, needed = len(self._vectors), len(self._keys) + more
        if needed > rows:
            rows = max(2 * rows, needed)
            self._vectors = _with_room(self._vectors, rows, self._vectors.shape[1])
            self._attributes = _with_room(self._attributes, rows, self._attributes.shape[1])


def _with_room(array: Array, rows: int, places: int) -> Array:
    """Copy into a larger array; the new room is zero.

    The room takes no memory before it is written.
    """
    larger = np.zeros((rows, places), array.dtype)
    larger[: array.shape[0], : array.shape[1]] = array
    return larger


class PointStore(Protocol):
    """The port that keeps the index's points between runs, by (shelf, key)."""

    async def get_description(self) -> bytes | None:
        """Return the last description; None if nothing was ever kept."""

    async def describe(self, description: bytes, shelves: Sequence[str]) -> None:
        """Set the description and drop every point of other shelves.

        Both happen in one commit.
        """

    async def load_points(self, shelf: str) -> Sequence[Point]:
        """Return all points of a shelf."""

    async def put_points(self, shelf: str, points: Sequence[Point]) -> None:
        """Put points in one commit.

        A stored point of a newer version stays.
        """

    async def drop_points(self, shelf: str, keys: Sequence[int | str]) -> None:
        """Remove points; unknown keys are ignored."""


def name_shelves(generation: int) -> dict[Collection, str]:
    """Name the collections of a generation as the point store keeps them."""
    suffix = f"/{generation}" if generation else ""
    return {collection: f"{collection}{suffix}" for collection in Collection}


class Shelves:
    """One generation of collections in memory. Each reindex counts `generation` up."""

    def __init__(self, dimension: int, generation: int) -> None:
        self.dimension = dimension
        self.names = name_shelves(generation)
        self._shelves = {collection: Shelf(dimension) for collection in Collection}
        self._lock = threading.Lock()

    async def run(self, collection: Collection, work: Callable[[Shelf], T]) -> T:
        """Run work on a collection in a thread, one at a time."""

        def locked() -> T:
            with self._lock:
                return work(self._shelves[collection])

        return await asyncio.to_thread(locked)


class NumpyWriter:
    """Writes points to the store, then to memory (IndexWriter).

    A point that a query finds therefore survives a crash.
    """

    def __init__(self, points: PointStore, shelves: Shelves | None = None) -> None:
        self._points = points
        self._shelves = shelves

    async def upsert(self, collection: Collection, points: Sequence[Point]) -> None:
        shelves = self._require_shelves()
        for point in points:
            check_vector(point.vector, shelves.dimension, f"{collection} {point.key!r}")
        if points:
            await self._points.put_points(shelves.names[collection], points)
            await shelves.run(collection, lambda shelf: shelf.put(points))

    async def delete(self, collection: Collection, keys: Sequence[int | str]) -> None:
        shelves = self._require_shelves()
        await self._points.drop_points(shelves.names[collection], keys)
        await shelves.run(collection, lambda shelf: shelf.drop(keys))

    async def get_versions(self, collection: Collection) -> dict[int | str, int]:
        return await self._require_shelves().run(collection, Shelf.get_versions)

    def _require_shelves(self) -> Shelves:
        if self._shelves is None:
            raise IndexUnavailable("the vector index was not found yet; the service keeps looking")
        return self._shelves


class NumpyIndex(NumpyWriter):
    """VectorIndex in memory; the point store's description names the served generation."""

    async def find_collections(self, embedder: str, dimension: int) -> bool:
        kept = await self._points.get_description()
        if kept is None:
            return False
        made = orjson.loads(kept)
        check_embedder((made["embedder"], made["dimension"]), embedder, dimension)
        shelves = Shelves(dimension, made.get("generation", 0))
        for collection, name in shelves.names.items():
            points = await self._points.load_points(name)
            await shelves.run(collection, partial(Shelf.put, points=points))
        self._shelves = shelves
        return True

    async def find_nearest(self, collection: Collection, vector: F32, limit: int) -> Sequence[Hit]:
        return await self._require_shelves().run(
            collection, lambda shelf: shelf.find_nearest(vector, limit)
        )

    async def search_above(
        self,
        collection: Collection,
        vector: F32,
        tau: float,
        sharing: frozenset[str],
    ) -> Sequence[Hit]:
        return await self._require_shelves().run(
            collection, lambda shelf: shelf.search_above(vector, tau, sharing)
        )

    async def get_vectors(
        self, collection: Collection, keys: Sequence[int | str]
    ) -> dict[int | str, F32]:
        return await self._require_shelves().run(collection, lambda shelf: shelf.get_vectors(keys))

    @asynccontextmanager
    async def rebuild(self, embedder: str, dimension: int) -> AsyncIterator[NumpyWriter]:
        kept = await self._points.get_description()
        served = -1
        if kept is not None:
            served = orjson.loads(kept).get("generation", 0)
            await self._points.describe(kept, list(name_shelves(served).values()))
        shelves = Shelves(dimension, served + 1)
        description = orjson.dumps(
            {"embedder": embedder, "dimension": dimension, "generation": served + 1},
            option=orjson.OPT_SORT_KEYS,
        )
        yield NumpyWriter(self._points, shelves)
        await self._points.describe(description, list(shelves.names.values()))
        self._shelves = shelves

    async def close(self) -> None:
        """Release nothing: the caller that opened the point store closes it."""
