"""A lease held for as long as the work takes, however long that is."""

import asyncio
import contextlib
from collections.abc import AsyncIterator

from propagation.model.errors import PropagationError
from propagation.ports.leases import Lease, LeaseStore

PROLONGED_A_LIFE = 3


@contextlib.asynccontextmanager
async def holding(store: LeaseStore, name: str, holder: str, ttl_ms: int) -> AsyncIterator[Lease | None]:
    """The lease, prolonged thrice in its life until the body ends, then given back; None while another holder has it. Where
    it is lost all the same (this process stood still for longer than `ttl_ms`), the next fenced commit raises LeaseLost."""
    lease = await store.acquire_lease(name, holder, ttl_ms)
    if lease is None:
        yield None
        return
    try:
        async with prolonged(store, lease, ttl_ms, shared=False):
            yield lease
    finally:
        with contextlib.suppress(PropagationError):  # what is not given back expires
            await store.release_lease(lease)


@contextlib.asynccontextmanager
async def prolonged(store: LeaseStore, lease: Lease, ttl_ms: int, *, shared: bool) -> AsyncIterator[None]:
    """The lease is prolonged thrice in its life until the body ends, and not given back. `shared`: others in this process work
    under it too, and a lease that was taken anew is theirs."""
    keeping = asyncio.create_task(_prolong(store, lease, ttl_ms, shared))
    try:
        yield
    finally:
        keeping.cancel()
        await asyncio.gather(keeping, return_exceptions=True)


async def _prolong(store: LeaseStore, lease: Lease, ttl_ms: int, shared: bool) -> None:
    while True:
        await asyncio.sleep(ttl_ms / PROLONGED_A_LIFE / 1_000)
        again = await store.acquire_lease(lease.name, lease.holder, ttl_ms)
        if again is None:
            return
        if again.token != lease.token:
            if not shared:
                await store.release_lease(again)
            return
