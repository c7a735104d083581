"""ClaimRenewal of this process: each stands as long as a lease, and is prolonged for as long as it is
worked on."""

import asyncio
import contextlib
from collections.abc import AsyncIterator

from propagation.model.interactions.reasoning import ReasonClaim
from propagation.ports.graph.graph_store import GraphStore
from propagation.workflow.concurrency.leases import LOOK_SECONDS, PROLONGED_A_LIFE, Leases


class ClaimRenewal:
    """Where one is lost all the same (this process stood still for longer than it stands), its
    commit raises LeaseLost."""

    def __init__(self, store: GraphStore, leases: Leases) -> None:
        self._store = store
        self._leases = leases
        self._held: set[int] = set()
        self._keeping: asyncio.Task[None] | None = None

    async def take(self, limit: int) -> ReasonClaim | None:
        """The next interactions (see ReasonStore.claim_reason)."""
        return await self._store.claim_reason(self._leases.holder, limit, self._leases.ttl_ms)

    async def take_dead_letters(self, limit: int) -> ReasonClaim | None:
        """The oldest dead letters (see ReasonStore.claim_dead_letters)."""
        return await self._store.claim_dead_letters(self._leases.holder, limit, self._leases.ttl_ms)

    @contextlib.asynccontextmanager
    async def held(self, claim: ReasonClaim) -> AsyncIterator[None]:
        """It is prolonged, with all others that are held, until the body ends; it is not given
        back."""
        self._held.add(claim.token)
        if self._keeping is None:
            self._keeping = asyncio.create_task(self._keep())
        try:
            yield
        finally:
            self._held.discard(claim.token)
            if not self._held and self._keeping is not None:
                keeping, self._keeping = self._keeping, None
                keeping.cancel()
                await asyncio.gather(keeping, return_exceptions=True)

    async def _keep(self) -> None:
        pause = self._leases.seconds / PROLONGED_A_LIFE
        while True:
            await asyncio.sleep(pause)
            pause = self._leases.seconds / PROLONGED_A_LIFE
            try:
                await self._store.renew_claims(sorted(self._held), self._leases.ttl_ms)
            except (
                Exception
            ):  # one ended at this moment, or the graph is away: then the commit is told
                pause = LOOK_SECONDS
