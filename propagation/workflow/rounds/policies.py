"""The table of routing policies, and the live data that they read."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from propagation.model import (
    F32,
    IncompatibleSettings,
    LeaseHeld,
    RouterMapChain,
    index_of,
    split_into_batches,
    sum_pairs,
)
from propagation.ports import Collection, Embedder, GraphStore, VectorIndex
from propagation.routing import (
    AdoptionPolicy,
    Arrival,
    RoutingPolicy,
    SemanticPolicy,
    Weights,
    compute_quantile_tau,
)
from propagation.workflow.concurrency import ROUND_LEASE, Leases
from propagation.workflow.settings import WorkflowSettings
from propagation.workflow.views import NumbersOwner, NumbersView

CLIENTS_A_READ = 256


@dataclass(frozen=True)
class PolicyPorts:
    """Everything that a routing policy may be built from."""

    settings: WorkflowSettings
    store: GraphStore
    index: VectorIndex
    embedder: Embedder
    numbers: NumbersOwner
    leases: Leases


ROUTING_POLICIES: dict[str, Callable[[PolicyPorts], RoutingPolicy]] = {
    AdoptionPolicy.name: lambda ports: AdoptionPolicy(
        LiveTasteWeights(ports.numbers, ports.store), ports.settings.table_edges
    ),
    SemanticPolicy.name: lambda ports: SemanticPolicy(
        ports.embedder, ports.index, EpochThreshold(ports)
    ),
}
"""One row for each value of the setting `policy`."""


def build_policy(ports: PolicyPorts) -> RoutingPolicy:
    """Build the policy that the settings name.

    Raises:
        IncompatibleSettings: The table has no such policy.
    """
    name = ports.settings.policy
    if name not in ROUTING_POLICIES:
        raise IncompatibleSettings(
            f"policy is {name!r}; it must be one of {', '.join(sorted(ROUTING_POLICIES))}"
        )
    return ROUTING_POLICIES[name](ports)


@dataclass
class EpochThreshold:
    """Provides tau (eq. 4): the setting `tau`, or a measured quantile.

    The quantile of the cosines is measured once for an epoch and recorded with it; a reindex
    measures again. Before the first epoch the quantile is measured at each call.
    """

    ports: PolicyPorts

    async def get_tau(self) -> float:
        if self.ports.settings.tau is not None:
            return self.ports.settings.tau
        epoch = await self.ports.store.get_current_epoch()
        return epoch.tau if epoch is not None and epoch.tau is not None else await self._fix()

    async def measure(self) -> None:
        """Measure tau over the index, unless the setting gives it.

        Raises:
            LeaseHeld: Another process runs a round.
        """
        if self.ports.settings.tau is None:
            async with self.ports.leases.require(ROUND_LEASE):
                await self._fix()

    async def _fix(self) -> float:
        """Measure tau, and record it with the epoch.

        Without an epoch, or without vectors in the index, it is not recorded.

        Raises:
            LeaseHeld: Another process runs a round.
        """
        routers = await self._read_vectors(Collection.ROUTERS)
        clients = np.concatenate(
            [await self._read_vectors(kind) for kind in (Collection.USERS, Collection.ITEMS)]
        )
        tau = compute_quantile_tau(routers, clients, self.ports.settings.seed)
        epoch = await self.ports.store.get_current_epoch()
        if epoch is not None and len(routers) and len(clients):
            lease = await self.ports.leases.acquire(ROUND_LEASE)
            if lease is None:
                raise LeaseHeld(ROUND_LEASE)
            await self.ports.store.fix_tau(lease, epoch.number, tau)
        return tau

    async def _read_vectors(self, collection: Collection) -> F32:
        """Read all vectors [n, D] of a collection, sorted by key."""
        keys = sorted(await self.ports.index.get_versions(collection), key=str)
        found = await self.ports.index.get_vectors(collection, keys)
        if not keys:
            return np.zeros((0, self.ports.embedder.dimension), np.float32)
        return np.stack([found[key] for key in keys])


@dataclass
class LiveTasteWeights:
    """Reads clients' weights from the live view, arrivals' from the store."""

    numbers: NumbersOwner
    store: GraphStore

    async def compute_client_weights(self, refs: Sequence[int], count: int) -> Sequence[Weights]:
        """Read the weights in batches, so that calls get their turn."""
        return [
            weights
            for batch in split_into_batches(refs, CLIENTS_A_READ)
            for weights in await self.numbers.run(NumbersView.compute_taste_weights, batch, count)
        ]

    async def read_arrival_weights(self, arrivals: Sequence[Arrival]) -> Sequence[Weights]:
        """Read the weights that each arrival's interaction wrote.

        Weights from before an evolution are mapped to the current routers.
        """
        written = await self.store.get_taste_written(
            [arrival.sequence for arrival in arrivals if arrival.sequence]
        )
        maps = await self.store.get_router_maps()
        older = [sequence for sequence in written if maps.after(sequence).maps]
        rows = await self.store.get_interactions(older) if older else ()
        moved = {
            row.sequence: _map(written[row.sequence], index_of(row.user), maps.after(row.sequence))
            for row in rows
        }
        return [
            moved.get(arrival.sequence, written.get(arrival.sequence, ())) for arrival in arrivals
        ]


def _map(weights: Weights, user: int, chain: RouterMapChain) -> Weights:
    routers = chain.map_routers(
        np.array([router for router, _ in weights]), np.full(len(weights), user)
    )
    sums = sum_pairs(zip(routers.tolist(), (weight for _, weight in weights), strict=True))
    return sorted(sums.items(), key=lambda pair: (-pair[1], pair[0]))
