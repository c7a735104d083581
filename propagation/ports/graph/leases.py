"""Leases with fencing tokens, and named bytes for the whole graph."""

from dataclasses import dataclass
from typing import Protocol

LONGEST_LEASE_MS = 600_000
"""The longest lease, in milliseconds.

A lease that seems longer was given before the clock jumped back, and counts as expired.
"""


@dataclass(frozen=True)
class Lease:
    """The right of one process to do one kind of work.

    It lasts until the lease expires.

    Attributes:
        name: Kind of work, e.g. learning.
        holder: Name of the process.
        token: Fencing token; grows with every change of holder. A commit with an older token
            raises LeaseLost.
    """

    name: str
    holder: str
    token: int


class LeaseStore(Protocol):
    """Storage of leases.

    The lease of a process that died or stalled expires by itself. The store's own time limits end
    the transactions that such a process left open: the Neo4j adapter gives every transaction a
    timeout (`neo4j.answer_seconds`), after which the server ends it and frees its locks.
    """

    async def acquire_lease(self, name: str, holder: str, ttl_ms: int) -> Lease | None:
        """Take a lease, or renew it if this holder has it.

        Args:
            ttl_ms: Milliseconds from now until it expires.

        Returns:
            The lease; None while another holder's lease has not expired.
        """

    async def get_lease_holder(self, name: str) -> str | None:
        """Return the process that holds a lease now; None if none does."""

    async def release_lease(self, lease: Lease) -> None:
        """Give a lease back before it expires.

        If the lease was lost, nothing happens.
        """


CACHED = "cache:"
"""Prefix of the names under which caches store their bytes."""


class BlobStore(Protocol):
    """Storage of named bytes.

    Examples are the embedder's state and the settings of the data.
    """

    async def get_blob(self, name: str) -> bytes | None:
        """Return the bytes of a name; None if there are none."""

    async def put_blob(self, name: str, value: bytes, lease: Lease | None = None) -> None:
        """Store bytes under a name, in place of older ones.

        Args:
            lease: If given, write only while it is current.

        Raises:
            LeaseLost: The lease's token is not the newest; nothing was changed.
        """

    async def put_cached(self, name: str, value: bytes, after_withdrawal: int) -> None:
        """Store bytes of a cache, unless there was another withdrawal meanwhile.

        A withdrawal empties all caches, because nothing says whose texts cached bytes rest on.

        Args:
            name: Begins with CACHED.
            after_withdrawal: Result of `get_last_withdrawal` before the bytes were asked for.
        """
