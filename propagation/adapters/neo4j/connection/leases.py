"""Leases with fencing tokens, and named facts (LeaseStore and BlobStore)."""

from propagation.adapters.neo4j.connection.database import StorePart
from propagation.ports import LONGEST_LEASE_MS, Lease


class Neo4jLeases(StorePart):
    """Keeps leases and named facts.

    Leases expire by the server's clock, which all processes share. A lease's token counts up each
    time that the lease is acquired, but not when it is renewed.
    """

    async def acquire_lease(self, name: str, holder: str, ttl_ms: int) -> Lease | None:
        token = await self._database.write(
            lambda transaction: transaction.value(
                "connection/acquire_lease",
                name=name,
                holder=holder,
                ttl=ttl_ms,
                longest=LONGEST_LEASE_MS,
                now=transaction.now(),
            )
        )
        return None if token is None else Lease(name, holder, token)

    async def get_lease_holder(self, name: str) -> str | None:
        holder: str | None = await self._database.value(
            "connection/lease_holder", name=name, longest=LONGEST_LEASE_MS, now=self._database.now()
        )
        return holder

    async def release_lease(self, lease: Lease) -> None:
        await self._database.execute("connection/release_lease", name=lease.name, token=lease.token)

    async def get_blob(self, name: str) -> bytes | None:
        value = await self._database.value("connection/load_fact", name=name)
        return None if value is None else bytes(value)

    async def put_blob(self, name: str, value: bytes, lease: Lease | None = None) -> None:
        leases = [] if lease is None else [lease]
        await self._database.write(
            lambda transaction: transaction.execute(
                "connection/store_fact", name=name, value=value
            ),
            *leases,
        )

    async def put_cached(self, name: str, value: bytes, after_withdrawal: int) -> None:
        await self._database.execute(
            "connection/store_cached", name=name, value=value, after_withdrawal=after_withdrawal
        )
