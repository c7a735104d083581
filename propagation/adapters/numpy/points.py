"""Where the NumPy index keeps its points between runs: the small part of a database that it needs."""

from collections.abc import Sequence
from typing import Protocol

from propagation.ports.vector_index import Collection, Point


class PointStore(Protocol):
    """Points by (collection, key). It keeps what it is given; the index decides what that is."""

    async def get_description(self) -> bytes | None:
        """What `clear` was told last; None where nothing was ever kept."""

    async def clear(self, description: bytes) -> None:
        """Drop every point and keep this description, in one commit."""

    async def load_points(self, collection: Collection) -> Sequence[Point]: ...

    async def put_points(self, collection: Collection, points: Sequence[Point]) -> None:
        """All in one commit; a point stays as it is where the stored version is newer."""

    async def drop_points(self, collection: Collection, keys: Sequence[int | str]) -> None: ...
