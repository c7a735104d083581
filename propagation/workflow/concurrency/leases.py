"""Leases held for as long as the work takes, however long that is; and one that its holder keeps
until another asks for it."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator

from propagation.model.errors import PropagationError
from propagation.ports.graph.leases import Lease, LeaseStore

ROUND_LEASE = "round"
"""Held by the one process that runs a round, or publishes an evolution or a withdrawal."""
PROLONGED_A_LIFE = 3
PATIENCE_SECONDS = 30.0
"""How long a caller waits for what another process holds."""
ASKED_MS, LOOK_SECONDS = 5_000, 0.1


class Leases:
    """What this process, `holder`, holds in the graph. Each lease stands for `seconds` from when it
    was last prolonged: so long after a process died others take over."""

    def __init__(self, store: LeaseStore, holder: str, seconds: float) -> None:
        self._store = store
        self.holder = holder
        self.seconds = seconds

    @property
    def ttl_ms(self) -> int:
        return int(self.seconds * 1_000)

    async def acquire(self, name: str) -> Lease | None:
        """The lease, new or prolonged; None while another holder has it."""
        return await self._store.acquire_lease(name, self.holder, self.ttl_ms)

    @contextlib.asynccontextmanager
    async def holding(self, name: str, patience: float = 0.0) -> AsyncIterator[Lease | None]:
        """The lease, prolonged thrice in its life until the body ends, then given back; None while
        another holder has it, which is waited for so many seconds. Where it is lost all the same
        (this process stood still for longer than it stands), the next fenced commit raises
        LeaseLost."""
        lease = await self.taken_over(name, patience)
        if lease is None:
            yield None
            return
        try:
            async with self.prolonged(lease, shared=False):
                yield lease
        finally:
            with contextlib.suppress(PropagationError):  # what is not given back expires
                await self._store.release_lease(lease)

    async def taken_over(self, name: str, patience: float = PATIENCE_SECONDS) -> Lease | None:
        """The lease, as soon as who has it gives it back, and who keeps it until it is asked for
        (see `asked_for`) is asked for it; None where that took longer than so many seconds."""
        until = time.monotonic() + patience
        asking: Lease | None = None
        try:
            while (lease := await self.acquire(name)) is None and time.monotonic() < until:
                asking = await self._store.acquire_lease(_asked(name), self.holder, ASKED_MS)
                await asyncio.sleep(LOOK_SECONDS)
            return lease
        finally:
            if asking is not None:
                with contextlib.suppress(PropagationError):
                    await self._store.release_lease(asking)

    async def asked_for(self, name: str) -> bool:
        """Whether another process waits for this lease: who holds it gives it back, and nobody else
        takes it meanwhile."""
        return await self._store.lease_holder(_asked(name)) not in (None, self.holder)

    @contextlib.asynccontextmanager
    async def prolonged(self, lease: Lease, *, shared: bool) -> AsyncIterator[None]:
        """The lease is prolonged thrice in its life until the body ends, and not given back.
        `shared`: others in this process work under it too, and a lease that was taken anew is
        theirs."""
        keeping = asyncio.create_task(self._prolong(lease, shared))
        try:
            yield
        finally:
            keeping.cancel()
            await asyncio.gather(keeping, return_exceptions=True)

    async def _prolong(self, lease: Lease, shared: bool) -> None:
        """A commit under the lease holds its row: what waited for one that took long is followed by
        the next at once."""
        pause = self.seconds / PROLONGED_A_LIFE
        due = time.monotonic() + pause
        while True:
            await asyncio.sleep(max(0.0, due - time.monotonic()))
            due = time.monotonic() + pause
            try:
                again = await self.acquire(lease.name)
            except Exception:  # a graph that is away: who works under it is told by its commit
                await asyncio.sleep(LOOK_SECONDS)
                continue
            if again is None:
                return
            if again.token != lease.token:
                if not shared:
                    await self._store.release_lease(again)
                return


def _asked(name: str) -> str:
    return f"{name}:asked"
