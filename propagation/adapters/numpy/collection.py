"""One collection of points in memory: unit vectors in one array, searched exactly."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from propagation.ports import Hit, Point

FIRST_ROWS, FIRST_PLACES = 1_024, 4
NONE = 0


class Shelf:
    """Rows of unit vectors [rows, D] f32 with keys, versions and attributes.

    Attribute names have numbers; a row holds its own in [rows, most of any] i32, and 0 elsewhere.
    Not safe for several threads.
    """

    def __init__(self, dimension: int) -> None:
        self._vectors = np.zeros((FIRST_ROWS, dimension), np.float32)
        self._keys: list[int | str] = []
        self._versions: list[int] = []
        self._attributes = np.full((FIRST_ROWS, FIRST_PLACES), NONE, np.int32)
        self._numbers: dict[str, int] = {}
        self._row: dict[int | str, int] = {}

    def put(self, points: Sequence[Point]) -> None:
        """Put points in order, except those older than the stored ones."""
        self._make_room(len(points))
        rows, vectors = [], []
        for point in points:
            row = self._row.get(point.key)
            if row is None:
                row = self._row[point.key] = len(self._keys)
                self._keys.append(point.key)
                self._versions.append(point.version)
            elif point.version < self._versions[row]:
                continue
            self._versions[row] = point.version
            self._hold(row, point.attributes)
            rows.append(row)
            vectors.append(point.vector)
        if rows:  # of a key that is here twice the last
            self._vectors[rows] = _units(np.stack(vectors))

    def drop(self, keys: Sequence[int | str]) -> None:
        """Remove points; the last row takes the place of each."""
        for key in keys:
            row = self._row.pop(key, None)
            if row is None:
                continue
            last = len(self._keys) - 1
            if row != last:
                self._vectors[row] = self._vectors[last]
                self._keys[row], self._versions[row] = self._keys[last], self._versions[last]
                self._attributes[row] = self._attributes[last]
                self._row[self._keys[row]] = row
            del self._keys[last], self._versions[last]

    def nearest(self, vector: NDArray[np.float32], limit: int) -> list[Hit]:
        """Return the `limit` points of largest cosine, ordered by (-score, key)."""
        scores = self._cosines(vector)
        if limit < 1 or not len(scores):
            return []
        rows = np.arange(len(scores))
        if limit < len(scores):
            bound = np.partition(scores, len(scores) - limit)[len(scores) - limit]
            rows = np.flatnonzero(scores >= bound)
        return self._hits(rows, scores)[:limit]

    def search_above(
        self, vector: NDArray[np.float32], tau: float, sharing: frozenset[str]
    ) -> list[Hit]:
        """Return all points with cosine > tau and an attribute of `sharing`, by (-score, key)."""
        scores = self._cosines(vector)
        wanted = np.zeros(len(self._numbers) + 1, np.bool_)
        wanted[[self._numbers[name] for name in sharing if name in self._numbers]] = True
        rows = np.flatnonzero(scores > tau)
        return self._hits(rows[wanted[self._attributes[rows]].any(axis=1)], scores)

    def vectors(self, keys: Sequence[int | str]) -> dict[int | str, NDArray[np.float32]]:
        """Return copies of the unit vectors of the known keys."""
        return {key: self._vectors[self._row[key]].copy() for key in keys if key in self._row}

    def versions(self) -> dict[int | str, int]:
        """Return the version of every key."""
        return dict(zip(self._keys, self._versions, strict=True))

    def _cosines(self, vector: NDArray[np.float32]) -> NDArray[np.float32]:
        norm = float(np.linalg.norm(vector))
        if norm == 0:
            return np.zeros(len(self._keys), np.float32)
        scores: NDArray[np.float32] = self._vectors[: len(self._keys)] @ (vector / np.float32(norm))
        return np.clip(scores, -1, 1)

    def _hits(self, rows: NDArray[np.int64], scores: NDArray[np.float32]) -> list[Hit]:
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
            wider = np.full((len(self._attributes), 2 * len(numbers)), NONE, np.int32)
            wider[:, : self._attributes.shape[1]] = self._attributes
            self._attributes = wider
        self._attributes[row] = NONE
        self._attributes[row, : len(numbers)] = numbers

    def _make_room(self, more: int) -> None:
        rows = len(self._vectors)
        while rows < len(self._keys) + more:
            rows *= 2
        if rows > len(self._vectors):
            grown = np.zeros((rows, self._vectors.shape[1]), np.float32)
            grown[: len(self._keys)] = self._vectors[: len(self._keys)]
            self._vectors = grown
            held = np.full((rows, self._attributes.shape[1]), NONE, np.int32)
            held[: len(self._keys)] = self._attributes[: len(self._keys)]
            self._attributes = held


def _units(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return [n, D] at length 1; zeros stay."""
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    units: NDArray[np.float32] = np.divide(
        vectors, norms, out=np.zeros_like(vectors), where=norms > 0
    )
    return units
