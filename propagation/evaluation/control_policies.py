"""Routing policies that serve as controls: the placebo, and point-to-point.

A service runs them only if its composition passes CONTROL_POLICIES.
"""

import asyncio
from collections.abc import Sequence

import numpy as np

from propagation.model import (
    FIRST_SENDER,
    Client,
    ClientKind,
    Round,
    RouterVersion,
    kind_of,
    sender_router,
)
from propagation.ports import Collection, GraphStore, VectorIndex
from propagation.routing import (
    AdoptionPolicy,
    Arrival,
    ArrivalsByRouter,
    RoutingTable,
    TasteWeights,
    UpdatedRouters,
    Weights,
    integrated_attributes,
)
from propagation.workflow.rounds.policies import LiveTasteWeights, PolicyFactory, PolicyPorts
from propagation.workflow.views import NumbersOwner


class ShuffledWeights:
    """Taste weights with a permutation of the routers for each client."""

    def __init__(self, weights: TasteWeights, numbers: NumbersOwner, seed: int) -> None:
        self._weights = weights
        self._numbers = numbers
        self._seed = seed

    async def of_clients(self, refs: Sequence[int], count: int) -> Sequence[Weights]:
        found = await self._weights.of_clients(refs, count)
        return [self._shuffle(ref, weights) for ref, weights in zip(refs, found, strict=True)]

    async def of_arrivals(self, arrivals: Sequence[Arrival]) -> Sequence[Weights]:
        found = await self._weights.of_arrivals(arrivals)
        return [
            self._shuffle(arrival.ref, weights)
            for arrival, weights in zip(arrivals, found, strict=True)
        ]

    def _shuffle(self, ref: int, weights: Weights) -> Weights:
        routers = self._numbers.view.routers
        shuffled = np.random.default_rng((self._seed, ref)).permutation(routers)
        names = dict(zip(routers, shuffled, strict=True))
        return [(int(names[router]), weight) for router, weight in weights]


class PlaceboPolicy(AdoptionPolicy):
    """Adoption routing with the routers' identities shuffled for each client.

    Its gain over no propagation is chance; the gain of adoption over it is community.

    Source: docs/numbers.md, "Protocol".
    """

    name = "placebo"


class PointToPointPolicy:
    """Point-to-point propagation without routers (RecNet 3.4.4, table 4, EM).

    An updated profile goes as it is to its `nearest` clients by cosine, users and items alike. Each
    sender stands in the routing table as a router of its own.
    """

    name = "point_to_point"

    def __init__(self, store: GraphStore, index: VectorIndex, nearest: int) -> None:
        self._index = index
        self._nearest = nearest
        self.integrator = VerbatimIntegrator(store)

    async def perceive(self, arrivals: Sequence[Arrival]) -> Sequence[Sequence[int]]:
        return [[sender_router(arrival.ref)] for arrival in arrivals]

    async def route(
        self, changed: Sequence[int], versions: Sequence[RouterVersion]
    ) -> RoutingTable:
        rows = await asyncio.gather(*(self._reach(version.router) for version in versions))
        return RoutingTable(
            scores={key: score for row in rows for key, score in row.items()},
            routers=[version.router for version in versions],
        )

    async def _reach(self, router: int) -> dict[tuple[int, int], float]:
        sender = router - FIRST_SENDER
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


class VerbatimIntegrator:
    """Sends each profile as it is, instead of a summary (eq. 3)."""

    def __init__(self, store: GraphStore) -> None:
        self._store = store

    async def integrate(
        self, round_: Round, epoch: int, groups: ArrivalsByRouter
    ) -> UpdatedRouters:
        """Write one message for each sender.

        Each group has arrivals of one client only.
        """
        numbers = await self._store.version_numbers(sorted(groups))
        senders = {router: group[0].ref for router, group in groups.items()}
        refs = sorted(senders.values())
        texts = await self._store.load_texts(refs)
        clients = {client.ref: client for client in await self._store.get_clients(refs)}
        versions = [
            RouterVersion(
                router=router,
                version=numbers.get(router, 0) + 1,
                round=round_.number,
                epoch=epoch,
                name=_sender_name(clients[senders[router]]),
                text=texts[senders[router]].profile.text,
                attributes=tuple(dict.fromkeys(arrival.attribute for arrival in group)),
                integrated=integrated_attributes(group),
            )
            for router, group in groups.items()
        ]
        return UpdatedRouters(versions)


def _sender_name(client: Client) -> str:
    """Name an item by its title; users are not named to others."""
    kind = client.key.kind
    return client.title if kind == ClientKind.ITEM and client.title else f"one {kind.name.lower()}"


def _placebo(ports: PolicyPorts) -> PlaceboPolicy:
    weights = LiveTasteWeights(ports.numbers, ports.store)
    shuffled = ShuffledWeights(weights, ports.numbers, ports.settings.seed)
    return PlaceboPolicy(shuffled, ports.settings.table_edges)


def _point_to_point(ports: PolicyPorts) -> PointToPointPolicy:
    return PointToPointPolicy(ports.store, ports.index, ports.settings.table_edges)


CONTROL_POLICIES: dict[str, PolicyFactory] = {
    PlaceboPolicy.name: _placebo,
    PointToPointPolicy.name: _point_to_point,
}
