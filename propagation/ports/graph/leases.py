"""Leases with fencing tokens, and small named facts about the whole graph."""

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class Lease:
    """`token` grows with every change of holder; a commit that carries an older token is refused
    (LeaseLost). `expires` in milliseconds of the store's clock."""

    name: str
    holder: str
    token: int
    expires: int


class LeaseStore(Protocol):
    """Storage of leases.

    A lease of a process that died or stalls expires by itself. The store's own time limits end
    what such a process has open: the Neo4j adapter gives every transaction a timeout
    (`neo4j.answer_seconds`), after which the server ends it and frees its locks.
    """

    async def acquire_lease(self, name: str, holder: str, ttl_ms: int) -> Lease | None:
        """The lease, new or prolonged; None while another holder's has not expired."""

    async def lease_holder(self, name: str) -> str | None:
        """Who holds it now; None where nobody does."""

    async def release_lease(self, lease: Lease) -> None:
        """Give it back early; does nothing when it was lost."""


class BlobStore(Protocol):
    async def get_blob(self, name: str) -> bytes | None: ...

    async def put_blob(self, name: str, value: bytes, lease: Lease | None = None) -> None:
        """In place of what was there. With a lease, raises LeaseLost when its token is not the
        newest; nothing is changed then."""
