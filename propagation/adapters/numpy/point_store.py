"""Where the NumPy index keeps its points between runs: the small part of a database that it needs."""

from collections.abc import Sequence
from typing import Protocol

from propagation.ports.vector_index import Point


class PointStore(Protocol):
    """Points by (shelf, key). It keeps what it is given; the index decides what that is."""

    async def get_description(self) -> bytes | None:
        """What `describe` was told last; None where nothing was ever kept."""

    async def describe(self, description: bytes, shelves: Sequence[str]) -> None:
        """Keep this description, and drop every point that is not on one of these shelves; in one
        commit."""

    async def load_points(self, shelf: str) -> Sequence[Point]: ...

    async def put_points(self, shelf: str, points: Sequence[Point]) -> None:
        """All in one commit; a point stays as it is where the stored version is newer."""

    async def drop_points(self, shelf: str, keys: Sequence[int | str]) -> None: ...
