"""Trigger of the next round, due after `update_size` clients changed.

Rounds run apart from interactions, over batches of changes (RecNet 2.5, asynchronous optimisation).

Source: Algorithm 1, line 13.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from propagation.model import Round
from propagation.ports import GraphStore
from propagation.routing import RoutingPolicy
from propagation.workflow.settings import WorkflowSettings


@dataclass(frozen=True)
class PendingChanges:
    """The clients that changed since the last round's boundary.

    They changed up to the next one's. `first`: the routers of a bootstrap have no profiles yet;
    every client is in the round that writes them.
    """

    clients: Sequence[int]
    after: int
    through: int
    first: bool = False


@dataclass
class RoundTrigger:
    """Finds what the next round has to do.

    Args:
        described: Returns the sequence up to which all clients are described, at most the given.
    """

    store: GraphStore
    policy: RoutingPolicy
    settings: WorkflowSettings
    described: Callable[[int], int]
    _first_published: bool = False

    async def is_due(self, clients: int) -> bool:
        """Tell whether enough of all `clients` have changed."""
        pending = await self.pending()
        return len(pending.clients) >= self.settings.update_size_for(clients)

    async def pending(self) -> PendingChanges:
        """Find the clients that changed since the last round."""
        last = await self.store.last_round()
        after = last.boundary if last else 0
        through = max(after, self.described(await self.store.reasoned_through()))
        if not self._first_published:
            if await self._lacks_first(last):
                everyone = sorted(await self.store.text_versions())
                return PendingChanges(everyone, after=0, through=through, first=True)
            self._first_published = True
        changed = await self.store.changed_clients(after, through)
        return PendingChanges(changed, after=after, through=through)

    def expect_first(self) -> None:
        """Check again for an epoch whose first round is not published."""
        self._first_published = False

    async def _lacks_first(self, last: Round | None) -> bool:
        current = await self.store.current_epoch() if self.policy.integrator is None else None
        if current is None or (last is not None and last.sequence > current.sequence):
            return False
        era = next(
            (epoch for epoch in await self.store.epochs() if epoch.number == current.era), current
        )
        return last is None or last.sequence <= era.sequence
