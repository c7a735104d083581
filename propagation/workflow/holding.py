"""A lease held for as long as the work takes, however long that is; and one that its holder keeps until another asks for it."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator

from propagation.model.errors import PropagationError
from propagation.ports.leases import Lease, LeaseStore

PROLONGED_A_LIFE = 3
PATIENCE_SECONDS = 30.0
"""How long a caller waits for what another process holds."""
ASKED_MS, LOOK_SECONDS = 5_000, 0.1


@contextlib.asynccontextmanager
async def holding(store: LeaseStore, name: str, holder: str, ttl_ms: int, patience: float = 0.0) -> AsyncIterator[Lease | None]:
    """The lease, prolonged thrice in its life until the body ends, then given back; None while another holder has it, which is
    waited for so many seconds. Where it is lost all the same (this process stood still for longer than `ttl_ms`), the next fenced
    commit raises LeaseLost."""
    lease = await taken_over(store, name, holder, ttl_ms, patience)
    if lease is None:
        yield None
        return
    try:
        async with prolonged(store, lease, ttl_ms, shared=False):
            yield lease
    finally:
        with contextlib.suppress(PropagationError):  # what is not given back expires
            await store.release_lease(lease)


async def taken_over(store: LeaseStore, name: str, holder: str, ttl_ms: int, patience: float) -> Lease | None:
    """The lease, as soon as who has it gives it back, and who keeps it until it is asked for (see `asked_for`) is asked for it;
    None where that took longer than so many seconds."""
    until = time.monotonic() + patience
    asking: Lease | None = None
    try:
        while (lease := await store.acquire_lease(name, holder, ttl_ms)) is None and time.monotonic() < until:
            asking = await store.acquire_lease(_asked(name), holder, ASKED_MS)
            await asyncio.sleep(LOOK_SECONDS)
        return lease
    finally:
        if asking is not None:
            with contextlib.suppress(PropagationError):
                await store.release_lease(asking)


async def asked_for(store: LeaseStore, name: str, holder: str) -> bool:
    """Whether another process waits for this lease: who holds it gives it back, and nobody else takes it meanwhile."""
    return await store.lease_holder(_asked(name)) not in (None, holder)


def _asked(name: str) -> str:
    return f"{name}:asked"


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
