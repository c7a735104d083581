"""Claims of interactions by this process, renewed while they are worked on."""

import asyncio
import contextlib
from collections.abc import AsyncIterator

from propagation.model.interactions.reasoning import ReasonClaim
from propagation.ports.graph.graph_store import GraphStore
from propagation.workflow.concurrency.leases import Leases
from propagation.workflow.concurrency.tasks import keep_renewing


class ClaimRenewal:
    """The claims of one process; each stands as long as a lease.

    A claim is lost all the same if this process stalls for longer than it stands; its commit then
    raises LeaseLost.
    """

    def __init__(self, store: GraphStore, leases: Leases) -> None:
        self._store = store
        self._leases = leases
        self._tokens: set[int] = set()
        self._renewal: asyncio.Task[None] | None = None

    async def take(self, limit: int) -> ReasonClaim | None:
        """Claim the next interactions (see ReasonStore.claim_reason)."""
        return await self._store.claim_reason(self._leases.holder, limit, self._leases.ttl_ms)

    async def take_dead_letters(self, limit: int) -> ReasonClaim | None:
        """Claim the oldest dead letters (see ReasonStore.claim_dead_letters)."""
        return await self._store.claim_dead_letters(self._leases.holder, limit, self._leases.ttl_ms)

    @contextlib.asynccontextmanager
    async def keep_alive(self, claim: ReasonClaim) -> AsyncIterator[None]:
        """Renew a claim, together with all others, until the body ends; do not give it back."""
        self._tokens.add(claim.token)
        if self._renewal is None:
            self._renewal = asyncio.create_task(
                keep_renewing(self._renew, self._leases.renewal_seconds)
            )
        try:
            yield
        finally:
            self._tokens.discard(claim.token)
            if not self._tokens and self._renewal is not None:
                renewal, self._renewal = self._renewal, None
                renewal.cancel()
                await asyncio.gather(renewal, return_exceptions=True)

    async def _renew(self) -> bool:
        await self._store.renew_claims(sorted(self._tokens), self._leases.ttl_ms)
        return True
