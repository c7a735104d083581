"""Postponed routers: their summary (eq. 3) failed; what arrived there waits a round."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson

from propagation.model.routers.round import Round
from propagation.ports.graph.graph_store import GraphStore
from propagation.ports.graph.leases import Lease
from propagation.routing.perception import group_by_router
from propagation.routing.policy import Arrival, ArrivalsByRouter, Perception


@dataclass(frozen=True)
class PostponedArrivals:
    """Arrivals that wait at their routers, and the epoch whose routers these are."""

    epoch: int = 0
    groups: dict[int, list[Arrival]] = field(default_factory=dict)


class PostponedRouters:
    """Keeps postponed arrivals in the graph, for the round that comes next.

    There are two places, for rounds of even and of odd number; the newer one that a published round
    wrote counts. A publication that is no round of its own (an evolution's) leaves both alone.
    """

    def __init__(self, store: GraphStore) -> None:
        self._store = store

    async def load(self) -> PostponedArrivals:
        """Load what waits for the next round, of clients that still exist."""
        last = await self._store.last_round()
        published = [
            saved for saved in await self._load_places() if last and saved[0] <= last.number
        ]
        if not published:
            return PostponedArrivals()
        _, epoch, rows = max(published)
        refs = {ref for _, group in rows for _, ref, _, _ in group}
        known = {client.ref for client in await self._store.get_clients(sorted(refs))}
        kept = {
            router: [Arrival(*row) for row in group if row[1] in known] for router, group in rows
        }
        return PostponedArrivals(epoch, {router: group for router, group in kept.items() if group})

    async def stage(
        self, lease: Lease, round_: Round, epoch: int, groups: ArrivalsByRouter
    ) -> None:
        """Save what this round postpones; it is read once the round is published.

        Raises:
            LeaseLost: Another process runs rounds now.
        """
        if groups or await self._load_places():
            rows = [
                (router, [(a.attribute, a.ref, a.profile_version, a.sequence) for a in group])
                for router, group in groups.items()
            ]
            blob = orjson.dumps((round_.number, epoch, rows))
            await self._store.put_blob(_place(round_.number), blob, lease)

    async def _load_places(self) -> list[Any]:
        blobs = [await self._store.get_blob(_place(number)) for number in range(2)]
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
