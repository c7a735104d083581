"""Small named facts about the whole graph: embedder state, settings the data was made with."""

from typing import Protocol

from propagation.ports.graph.leases import Lease


class BlobStore(Protocol):
    async def get_blob(self, name: str) -> bytes | None: ...

    async def put_blob(self, name: str, value: bytes, lease: Lease | None = None) -> None:
        """In place of what was there. With a lease, raises LeaseLost when its token is not the
        newest; nothing is changed then."""
