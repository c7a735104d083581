"""Leases with fencing tokens: one holder at a time, and a late one is harmless."""

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class Lease:
    """`token` grows with every change of holder; a commit that carries an older token is refused (LeaseLost).
    `expires` in milliseconds of the store's clock."""

    name: str
    holder: str
    token: int
    expires: int


class LeaseStore(Protocol):
    async def acquire_lease(self, name: str, holder: str, ttl_ms: int) -> Lease | None:
        """The lease, new or prolonged; None while another holder's has not expired."""

    async def lease_holder(self, name: str) -> str | None:
        """Who holds it now; None where nobody does."""

    async def show_life(self, holder: str, ttl_ms: int) -> int:
        """This process lives, for so long from now on (0: it ends). What processes that showed life before, and showed none at this
        call nor at the one before, have held open for as long is ended, for a frozen one may hold locks that everybody waits for;
        how much that was. Two calls: after the store itself stood still nobody has shown life for a moment."""

    async def release_lease(self, lease: Lease) -> None:
        """Give it back early; does nothing when it was lost."""
