"""Pending work of the next round: the clients that changed, and the arrivals that were postponed.

A round is due after `update_size` clients have changed (Algorithm 1, line 13). Rounds run apart
from interactions, over batches of changes (RecNet 2.5, asynchronous optimisation). Arrivals are
postponed at routers whose summary (eq. 3) failed.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson

from propagation.model import Round
from propagation.ports import GraphStore, Lease
from propagation.routing import (
    Arrival,
    ArrivalsByRouter,
    Perception,
    RoutingPolicy,
    group_by_router,
)
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
        """Look again whether an epoch was opened whose first round was not published."""
        self._first_published = False

    async def _lacks_first(self, last: Round | None) -> bool:
        current = await self.store.current_epoch() if self.policy.integrator is None else None
        if current is None or (last is not None and last.sequence > current.sequence):
            return False
        era = next(
            (epoch for epoch in await self.store.epochs() if epoch.number == current.era), current
        )
        return last is None or last.sequence <= era.sequence


@dataclass(frozen=True)
class PostponedArrivals:
    """Arrivals that wait at their routers, and the epoch whose routers these are."""

    epoch: int = 0
    groups: dict[int, list[Arrival]] = field(default_factory=dict)


async def load_postponed(store: GraphStore) -> PostponedArrivals:
    """Load the arrivals that wait for the next round, of clients that still exist.

    There are two places, for rounds of even and of odd number; the newer one that a published round
    wrote counts. A publication that is no round of its own (an evolution's) leaves both alone.
    """
    last = await store.last_round()
    published = [saved for saved in await _load_places(store) if last and saved[0] <= last.number]
    if not published:
        return PostponedArrivals()
    _, epoch, rows = max(published)
    refs = {ref for _, group in rows for _, ref, _, _ in group}
    known = {client.ref for client in await store.get_clients(sorted(refs))}
    kept = {router: [Arrival(*row) for row in group if row[1] in known] for router, group in rows}
    return PostponedArrivals(epoch, {router: group for router, group in kept.items() if group})


async def stage_postponed(
    store: GraphStore, lease: Lease, round_: Round, epoch: int, groups: ArrivalsByRouter
) -> None:
    """Save what this round postpones; it is read once the round is published.

    Raises:
        LeaseLost: Another process runs rounds now.
    """
    if groups or await _load_places(store):
        rows = [
            (router, [(a.attribute, a.ref, a.profile_version, a.sequence) for a in group])
            for router, group in groups.items()
        ]
        blob = orjson.dumps((round_.number, epoch, rows))
        await store.put_blob(_place(round_.number), blob, lease)


async def _load_places(store: GraphStore) -> list[Any]:
    blobs = [await store.get_blob(_place(number)) for number in range(2)]
    return [orjson.loads(blob) for blob in blobs if blob]


async def assign_to_routers(
    arrivals: Sequence[Arrival], postponed: PostponedArrivals, epoch: int, perception: Perception
) -> dict[int, list[Arrival]]:
    """Group this round's arrivals, and the postponed ones, by router.

    Postponed arrivals stay at the router where they wait; if an epoch has begun since, they are
    perceived again. What arrives a second time counts once, as it is now.
    """
    waiting = postponed.groups
    if postponed.epoch != epoch:
        earlier = [arrival for group in waiting.values() for arrival in group]
        arrivals = _newest([*earlier, *arrivals])
        waiting = {}
    groups = group_by_router(arrivals, await perception.perceive(arrivals))
    for router, group in waiting.items():
        groups[router] = _newest([*group, *groups.get(router, [])])
    return dict(sorted(groups.items()))


def _newest(arrivals: Sequence[Arrival]) -> list[Arrival]:
    """Keep the last arrival of each attribute of each client."""
    return list({(arrival.attribute, arrival.ref): arrival for arrival in arrivals}.values())


def _place(number: int) -> str:
    return f"skipped_routers:{number % 2}"
