"""When a round is due (Algorithm 1, line 13): after `update_size` clients have changed.

Rounds run apart from interactions, over batches of changes (RecNet 2.5, asynchronous optimisation).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from propagation.model.routers.round import Round
from propagation.ports.graph.graph_store import GraphStore
from propagation.routing.policy import RoutingPolicy
from propagation.workflow.settings import WorkflowSettings


@dataclass(frozen=True)
class PendingChanges:
    """The clients that changed after the last round's boundary, and up to the next one's.

    `first`: the routers of a bootstrap have no profiles yet; every client is in the round that
    writes them.
    """

    clients: Sequence[int]
    after: int
    through: int
    first: bool = False


class RoundTrigger:
    """Finds what the next round has to do.

    Args:
        described: Returns the sequence up to which all clients are described, at most the given.
    """

    def __init__(
        self,
        store: GraphStore,
        policy: RoutingPolicy,
        settings: WorkflowSettings,
        described: Callable[[int], int],
    ) -> None:
        self._store = store
        self._policy = policy
        self._settings = settings
        self._described = described
        self._first_published = False

    async def is_due(self, clients: int) -> bool:
        """Tell whether enough of all `clients` have changed."""
        pending = await self.pending()
        return len(pending.clients) >= self._settings.update_size_for(clients)

    async def pending(self) -> PendingChanges:
        """Find the clients that changed since the last round."""
        last = await self._store.last_round()
        after = last.boundary if last else 0
        through = max(after, self._described(await self._store.reasoned_through()))
        if not self._first_published:
            if await self._lacks_first(last):
                clients = sorted(await self._store.text_versions())
                return PendingChanges(clients, after=0, through=through, first=True)
            self._first_published = True
        clients = list(await self._store.changed_clients(after, through))
        return PendingChanges(clients, after=after, through=through)

    def expect_first(self) -> None:
        """Look again whether an epoch was opened whose first round was not published."""
        self._first_published = False

    async def _lacks_first(self, last: Round | None) -> bool:
        current = await self._store.current_epoch() if self._policy.integrator is None else None
        if current is None or (last is not None and last.sequence > current.sequence):
            return False
        era = next(
            (epoch for epoch in await self._store.epochs() if epoch.number == current.era), current
        )
        return last is None or last.sequence <= era.sequence
