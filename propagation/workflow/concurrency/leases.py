"""Leases in the graph, and the background tasks that renew them."""

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from typing import TypeVar

from propagation.model import LeaseHeld, LeaseLost, PropagationError, StoreUnreachable
from propagation.ports import Lease, LeaseStore

RETRY_SECONDS = 0.1
T = TypeVar("T")
log = logging.getLogger(__name__)


async def yield_to_loop() -> None:
    """Let other tasks of this loop run.

    An offline reasoner never waits by itself.
    """
    await asyncio.sleep(0)


@asynccontextmanager
async def run_in_background(work: Coroutine[None, None, T]) -> AsyncIterator["asyncio.Task[T]"]:
    """Run `work` as a task while the body runs, then cancel it."""
    task = asyncio.create_task(work)
    try:
        yield task
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def run_to_end(work: Coroutine[None, None, T]) -> T:
    """Run `work` to its end; only then let a cancellation go on."""
    task = asyncio.create_task(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        if not task.done():
            await asyncio.wait([task])
        if not task.cancelled() and (error := task.exception()) is not None:
            log.warning("work that was no longer awaited failed: %s", error)
        raise


async def keep_renewing(name: str, renew: Callable[[], Awaitable[bool]], every: float) -> None:
    """Call `renew` again and again, until it returns False.

    The interval counts from the start of a call, so the next call follows a slow one at once. A
    call that fails is repeated after RETRY_SECONDS, and no error is raised: if the renewal came too
    late, the commit that relies on it is refused.

    Args:
        name: Names the lease or claim in the log.
        renew: Returns False once there is nothing left to renew.
        every: Seconds from the start of one call to the start of the next.
    """
    pause, failing = every, False
    while True:
        await asyncio.sleep(pause)
        start = time.monotonic()
        try:
            if not await renew():
                return
            pause, failing = max(0.0, start + every - time.monotonic()), False
        except Exception as error:
            if not failing:
                log.warning("%s could not be renewed and will be tried again: %s", name, error)
            pause, failing = RETRY_SECONDS, True


LEARN_LEASE = "learn"
"""Held by the process that learns."""
ROUND_LEASE = "round"
"""Held by the process that runs a round.

It is also held to publish an evolution or a withdrawal.
"""
DESCRIBE_LEASE = "describe"
"""Held by the process that describes new and changed clients."""
WAIT_SECONDS = 30.0
"""How long a caller waits for a lease of another process."""
REQUEST_TTL_MS, POLL_SECONDS = 5_000, 0.1


class Leases:
    """The leases of one process, `holder`.

    A lease lasts for `seconds` after its last renewal. If a process dies, others take over after
    that time.
    """

    def __init__(self, store: LeaseStore, holder: str, seconds: float) -> None:
        self._store = store
        self.holder = holder
        self.seconds = seconds

    @property
    def ttl_ms(self) -> int:
        return int(self.seconds * 1_000)

    @property
    def renewal_seconds(self) -> float:
        """Return the time between renewals, a third of a lease's term."""
        return self.seconds / 3

    async def acquire(self, name: str) -> Lease | None:
        """Take or renew a lease; None while another process holds it."""
        return await self._store.acquire_lease(name, self.holder, self.ttl_ms)

    @asynccontextmanager
    async def hold(self, name: str, wait_seconds: float = 0.0) -> AsyncIterator[Lease | None]:
        """Hold a lease until the body ends, then give it back.

        The lease is renewed meanwhile. If this process stalls for longer than the lease lasts, the
        lease is lost, and the next fenced commit raises LeaseLost. If the body ends because the
        store cannot be reached, the lease is left to expire: giving it back would wait for the
        store once more.

        Args:
            name: The lease.
            wait_seconds: How long to wait for another process to give it back.

        Returns:
            The lease, or None if another process holds it.
        """
        lease = await self.wait_for(name, wait_seconds)
        if lease is None:
            yield None
            return
        reachable = True
        try:
            async with self.keep_alive(lease, shared=False):
                yield lease
        except StoreUnreachable:
            reachable = False
            raise
        finally:
            if reachable:
                with suppress(PropagationError):  # a lease that is not given back expires
                    await self._store.release_lease(lease)

    @asynccontextmanager
    async def require(self, name: str, wait_seconds: float = 0.0) -> AsyncIterator[Lease]:
        """Hold a lease as `hold` does.

        Raises:
            LeaseHeld: Another process holds it.
        """
        async with self.hold(name, wait_seconds) as lease:
            if lease is None:
                raise LeaseHeld(name)
            yield lease

    @asynccontextmanager
    async def keep_rounds_out(self) -> AsyncIterator[Lease]:
        """Hold the round lease, once a round of another process has ended.

        Raises:
            LeaseLost: The other process was not done within WAIT_SECONDS.
        """
        async with self.hold(ROUND_LEASE, WAIT_SECONDS) as lease:
            if lease is None:
                raise LeaseLost(
                    f"another process runs a round and did not finish within {WAIT_SECONDS:.0f} s;"
                    " try again"
                )
            yield lease

    async def wait_for(self, name: str, seconds: float = WAIT_SECONDS) -> Lease | None:
        """Request a lease from its holder, and wait until it is free.

        Returns:
            The lease, or None if that took longer than `seconds`.
        """
        until = time.monotonic() + seconds
        request: Lease | None = None
        try:
            while (lease := await self.acquire(name)) is None and time.monotonic() < until:
                request = await self._store.acquire_lease(
                    _request(name), self.holder, REQUEST_TTL_MS
                )
                await asyncio.sleep(POLL_SECONDS)
            return lease
        finally:
            if request is not None:
                with suppress(PropagationError):
                    await self._store.release_lease(request)

    async def is_requested_elsewhere(self, name: str) -> bool:
        """Return whether another process waits for this lease.

        If so, the holder should give the lease back, and no third process should take it.
        """
        return await self._store.get_lease_holder(_request(name)) not in (None, self.holder)

    @asynccontextmanager
    async def keep_alive(self, lease: Lease, *, shared: bool) -> AsyncIterator[None]:
        """Renew a lease until the body ends; do not give it back.

        Args:
            lease: The lease.
            shared: Whether other work of this process uses the lease, too. If the lease was lost
                and a renewal took it anew, that work keeps it; otherwise it is given back at once.
        """

        async def renew() -> bool:
            renewed = await self.acquire(lease.name)
            if renewed is not None and renewed.token != lease.token and not shared:
                await self._store.release_lease(renewed)
            return renewed is not None and renewed.token == lease.token

        async with run_in_background(
            keep_renewing(f"the lease {lease.name!r}", renew, self.renewal_seconds)
        ):
            yield


def _request(name: str) -> str:
    return f"{name}:asked"
