"""The routing policy that the settings name."""

from collections.abc import Mapping, Sequence

import numpy as np

from propagation.model.clients.client import index_of
from propagation.model.errors import LeaseHeld
from propagation.model.routers.router_maps import RouterMapChain
from propagation.ports.embedder import Embedder
from propagation.ports.graph.graph_store import GraphStore
from propagation.ports.vector_index import Collection, VectorIndex
from propagation.routing.adoption_policy import AdoptionPolicy, Weights
from propagation.routing.placebo import PlaceboPolicy
from propagation.routing.point_to_point import PointToPointPolicy
from propagation.routing.policy import Arrival, RoutingPolicy
from propagation.routing.semantic_policy import SemanticPolicy
from propagation.routing.threshold import AbsoluteTau, Threshold, quantile_tau
from propagation.workflow.concurrency.leases import ROUND_LEASE, Leases
from propagation.workflow.settings import WorkflowSettings
from propagation.workflow.views.numbers_owner import NumbersOwner


def policy_for(
    settings: WorkflowSettings,
    store: GraphStore,
    index: VectorIndex,
    embedder: Embedder,
    numbers: NumbersOwner,
    leases: Leases,
) -> RoutingPolicy:
    """`settings.policy` over these parts; all four read the same taste routers."""
    match settings.policy:
        case "adoption":
            return AdoptionPolicy(LiveTasteWeights(numbers, store), settings.table_edges)
        case "placebo":
            return PlaceboPolicy(
                LiveTasteWeights(numbers, store),
                settings.table_edges,
                lambda: numbers.view.routers,
                settings.seed,
            )
        case "point_to_point":
            return PointToPointPolicy(index, settings.table_edges)
        case "semantic":
            return SemanticPolicy(
                embedder, index, threshold_for(settings, store, index, embedder.dimension, leases)
            )


def threshold_for(
    settings: WorkflowSettings,
    store: GraphStore,
    index: VectorIndex,
    dimension: int,
    leases: Leases,
) -> Threshold:
    return (
        QuantileTau(store, index, dimension, settings.seed, leases)
        if settings.tau is None
        else AbsoluteTau(settings.tau)
    )


class QuantileTau:
    """The quantile, fixed and recorded with the epoch, by whoever may run rounds; before the first
    epoch it moves with the cosines."""

    def __init__(
        self, store: GraphStore, index: VectorIndex, dimension: int, seed: int, leases: Leases
    ) -> None:
        self._store = store
        self._leases = leases
        self._dimension = dimension
        self._index = index
        self._seed = seed

    async def tau(self) -> float:
        epoch = await self._store.current_epoch()
        if epoch is not None and epoch.tau is not None:
            return epoch.tau
        return await self.fix()

    async def fix(self) -> float:
        """Measured anew over what the index holds now, and recorded where there is an epoch. Raises
        LeaseHeld where another process runs a round."""
        routers = await self._vectors(Collection.ROUTERS)
        clients = np.concatenate(
            [await self._vectors(kind) for kind in (Collection.USERS, Collection.ITEMS)]
        )
        tau = quantile_tau(routers, clients, self._seed)
        epoch = await self._store.current_epoch()
        if epoch is not None and len(routers) and len(clients):
            lease = await self._leases.acquire(ROUND_LEASE)
            if lease is None:
                raise LeaseHeld(ROUND_LEASE)
            await self._store.fix_tau(lease, epoch.number, tau)
        return tau

    async def _vectors(
        self, collection: Collection
    ) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
        """[n, D] of all points, by key."""
        keys = sorted(await self._index.versions(collection), key=str)
        found = await self._index.vectors(collection, keys)
        return (
            np.stack([found[key] for key in keys])
            if keys
            else np.zeros((0, self._dimension), np.float32)
        )


class LiveTasteWeights:
    """See routing/adoption.py, TasteWeights."""

    def __init__(self, numbers: NumbersOwner, store: GraphStore) -> None:
        self._numbers = numbers
        self._store = store

    async def of_clients(self, refs: Sequence[int], count: int) -> Sequence[Weights]:
        return await self._numbers.taste_weights(refs, count) if refs else []

    async def of_arrivals(self, arrivals: Sequence[Arrival]) -> Sequence[Weights]:
        written = await self._store.taste_written(
            [arrival.sequence for arrival in arrivals if arrival.sequence]
        )
        if written:
            written = await self._as_now(written)
        return [written.get(arrival.sequence, ()) for arrival in arrivals]

    async def _as_now(self, written: Mapping[int, Weights]) -> Mapping[int, Weights]:
        """Weights of before an evolution, on the routers of now."""
        maps = await self._store.router_maps()
        older = [sequence for sequence in written if maps.after(sequence).maps]
        users = (
            {row.sequence: index_of(row.user) for row in await self._store.interactions(older)}
            if older
            else {}
        )
        return {
            **written,
            **{
                sequence: _mapped(written[sequence], user, maps.after(sequence))
                for sequence, user in users.items()
            },
        }


def _mapped(weights: Weights, user: int, chain: RouterMapChain) -> Weights:
    routers = chain.map_routers(
        np.array([router for router, _ in weights]), np.full(len(weights), user)
    )
    sums: dict[int, float] = {}
    for router, (_, weight) in zip(routers.tolist(), weights, strict=True):
        sums[router] = sums.get(router, 0.0) + weight
    return sorted(sums.items(), key=lambda pair: (-pair[1], pair[0]))
