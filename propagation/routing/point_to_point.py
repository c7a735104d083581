"""Point-to-point propagation (RecNet, table 4's EM baseline): no routers; an updated profile goes
as it is to the nearest clients. Each sender stands in the routing table as a router of its own."""

import asyncio
from collections.abc import Sequence

from propagation.model.clients.client import ClientKind, kind_of
from propagation.model.routers.router import RouterVersion
from propagation.ports.vector_index import Collection, VectorIndex
from propagation.routing.policy import Arrival, Table

SENDERS = 1 << 20


def sender_router(ref: int) -> int:
    """The number a client sends under: above every router of a bank."""
    return SENDERS + ref


class PointToPointPolicy:
    """The updated profile to its `nearest` clients by cosine of the profiles, users and items
    alike."""

    name = "point_to_point"
    summarises = False

    def __init__(self, index: VectorIndex, nearest: int) -> None:
        self._index = index
        self._nearest = nearest

    async def perceive(self, arrivals: Sequence[Arrival]) -> Sequence[Sequence[int]]:
        return [[sender_router(arrival.ref)] for arrival in arrivals]

    async def route(self, changed: Sequence[int], versions: Sequence[RouterVersion]) -> Table:
        rows = await asyncio.gather(*(self._reached(version.router) for version in versions))
        return Table(
            scores={key: score for row in rows for key, score in row.items()},
            routers=[version.router for version in versions],
        )

    async def _reached(self, router: int) -> dict[tuple[int, int], float]:
        sender = router - SENDERS
        own = Collection.USERS if kind_of(sender) == ClientKind.USER else Collection.ITEMS
        vector = (await self._index.vectors(own, [sender])).get(sender)
        if vector is None or not vector.any():
            return {}
        hits = await asyncio.gather(
            *(
                self._index.nearest(kind, vector, self._nearest + 1)
                for kind in (Collection.USERS, Collection.ITEMS)
            )
        )
        others = [hit for found in hits for hit in found if hit.key != sender and hit.score > 0]
        best = sorted(others, key=lambda hit: (-hit.score, hit.key))[: self._nearest]
        return {(router, int(hit.key)): hit.score for hit in best}
