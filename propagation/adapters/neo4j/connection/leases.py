"""LeaseStore and BlobStore on Neo4j."""

from collections.abc import Sequence

from propagation.adapters.neo4j.connection.database import Neo4jDatabase, Transaction
from propagation.adapters.neo4j.connection.server_clock import Time
from propagation.model.errors import LeaseLost
from propagation.ports.graph.leases import Lease

LONGEST_MS = 600_000
"""No lease is longer: one that seems so was given before the clock jumped back, and has expired."""


class Neo4jLeases:
    """Leases by the server's clock, one for all processes; tokens by count. Facts (blobs) beside
    them."""

    def __init__(self, database: Neo4jDatabase, time: Time) -> None:
        self._database = database
        self._time = time

    async def acquire_lease(self, name: str, holder: str, ttl_ms: int) -> Lease | None:
        row = await self._database.write(
            lambda transaction: transaction.row(
                "leases/acquire",
                name=name,
                holder=holder,
                ttl=ttl_ms,
                longest=LONGEST_MS,
                now=self._time.now(),
            )
        )
        return (
            None if row is None else Lease(name=name, holder=holder, token=row[0], expires=row[1])
        )

    async def lease_holder(self, name: str) -> str | None:
        holder: str | None = await self._database.value(
            "leases/holder", name=name, longest=LONGEST_MS, now=self._time.now()
        )
        return holder

    async def renew_heartbeat(self, holder: str, ttl_ms: int, within: float) -> frozenset[str]:
        silent = await self._database.write_apart(
            lambda transaction: transaction.value(
                "leases/live", holder=holder, ttl=ttl_ms, now=self._time.now()
            ),
            within,
        )
        self._database.process = holder
        return frozenset(silent)

    async def end_stalled(self, holders: Sequence[str], longer_ms: int, within: float) -> int:
        ended = await self._database.write_apart(
            lambda transaction: transaction.value(
                "leases/end_stalled", silent=list(holders), longer=longer_ms
            ),
            within,
        )
        return int(ended or 0)

    async def release_lease(self, lease: Lease) -> None:
        await self._database.write(
            lambda transaction: transaction.do("leases/release", name=lease.name, token=lease.token)
        )

    async def get_blob(self, name: str) -> bytes | None:
        value = await self._database.value("facts/get", name=name)
        return None if value is None else bytes(value)

    async def put_blob(self, name: str, value: bytes, lease: Lease | None = None) -> None:
        async def work(transaction: Transaction) -> None:
            if lease is not None:
                await check_fence(transaction, lease)
            await transaction.do("facts/put", name=name, value=value)

        await self._database.write(work)


async def check_fence(transaction: Transaction, lease: Lease) -> None:
    """In the same transaction as what the lease protects; until it ends nobody else can take the
    lease. Raises LeaseLost."""
    token = await transaction.value("leases/fence", name=lease.name)
    if token != lease.token:
        raise LeaseLost(
            f"lease {lease.name!r} was taken over by token {token}; this holder had {lease.token}"
        )
