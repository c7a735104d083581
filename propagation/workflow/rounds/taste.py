"""What adoption routing reads of the numbers: the live view, and what interactions wrote."""

from collections.abc import Mapping, Sequence

import numpy as np

from propagation.model.clients.client import index_of
from propagation.model.routers.router_maps import Chain
from propagation.ports.graph.graph_store import GraphStore
from propagation.routing.adoption import Weights
from propagation.routing.policy import Arrival
from propagation.workflow.views.numbers_owner import Numbers


class LiveTaste:
    """See routing/adoption.py, TasteReading."""

    def __init__(self, numbers: Numbers, store: GraphStore) -> None:
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


def _mapped(weights: Weights, user: int, chain: Chain) -> Weights:
    routers = chain.mapped(np.array([router for router, _ in weights]), np.full(len(weights), user))
    sums: dict[int, float] = {}
    for router, (_, weight) in zip(routers.tolist(), weights, strict=True):
        sums[router] = sums.get(router, 0.0) + weight
    return sorted(sums.items(), key=lambda pair: (-pair[1], pair[0]))
