"""The port that keeps the NumPy index's points between runs."""

from collections.abc import Sequence
from typing import Protocol

from propagation.ports.vector_index import Point


class PointStore(Protocol):
    """Points by (shelf, key); it keeps what the index gives it."""

    async def get_description(self) -> bytes | None:
        """Return the last description; None if nothing was ever kept."""

    async def describe(self, description: bytes, shelves: Sequence[str]) -> None:
        """Set the description and drop every point of other shelves, in one commit."""

    async def load_points(self, shelf: str) -> Sequence[Point]: ...

    async def put_points(self, shelf: str, points: Sequence[Point]) -> None:
        """Put points in one commit; a stored point of a newer version stays."""

    async def drop_points(self, shelf: str, keys: Sequence[int | str]) -> None: ...
