"""Routers whose summary (eq. 3) failed in a round: they send nothing in it, and what had arrived
there waits for the next."""

from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from propagation.model.routers.round import Round
from propagation.ports.graph.graph_store import GraphStore
from propagation.ports.graph.leases import Lease
from propagation.routing.integration import grouped
from propagation.routing.policy import Arrival, Perceiving

Groups = Mapping[int, Sequence[Arrival]]


class PostponedRouters:
    """Two places in the graph, for rounds of even and of odd number. What counts is the newer of
    those that a published round left; a publication that is no round of its own (evolution's)
    leaves it as it was."""

    def __init__(self, store: GraphStore) -> None:
        self._store = store

    async def waiting(self) -> tuple[int, dict[int, list[Arrival]]]:
        """(the epoch they arrived in, arrivals by router) that wait for the next round; of clients
        that are still there."""
        last = await self._store.last_round()
        left = [
            part for part in await self._places() if last is not None and part[0] <= last.number
        ]
        if not left:
            return 0, {}
        _, epoch, rows = max(left)
        refs = {ref for _, group in rows for _, ref, _, _ in group}
        known = {client.ref for client in await self._store.get_clients(sorted(refs))}
        kept = {
            router: [Arrival(*row) for row in group if row[1] in known] for router, group in rows
        }
        return epoch, {router: group for router, group in kept.items() if group}

    async def stage(self, lease: Lease, round_: Round, epoch: int, groups: Groups) -> None:
        """What this round leaves out; read once it is published. Raises LeaseLost."""
        if groups or await self._places():
            rows = [
                (router, [(a.attribute, a.ref, a.profile_version, a.sequence) for a in group])
                for router, group in groups.items()
            ]
            await self._store.put_blob(
                _place(round_.number), orjson.dumps((round_.number, epoch, rows)), lease
            )

    async def _places(self) -> list[Any]:
        blobs = [await self._store.get_blob(_place(number)) for number in range(2)]
        return [orjson.loads(blob) for blob in blobs if blob]


async def arrivals_by_router(
    arrivals: Sequence[Arrival], epoch: int, left: tuple[int, Groups], perceiving: Perceiving
) -> dict[int, list[Arrival]]:
    """Arrivals by router: those of this round, and those that the last one left out, at the routers
    where they wait; where an epoch has begun since, these are perceived anew. What arrives again
    comes once, as it is now."""
    since, groups = left
    if since != epoch:
        arrivals = _once([*(arrival for group in groups.values() for arrival in group), *arrivals])
        groups = {}
    found = grouped(arrivals, await perceiving.perceive(arrivals))
    for router, group in groups.items():
        found[router] = _once([*group, *found.get(router, [])])
    return dict(sorted(found.items()))


def _once(arrivals: Sequence[Arrival]) -> list[Arrival]:
    """The last arrival of each attribute of each client."""
    return list({(arrival.attribute, arrival.ref): arrival for arrival in arrivals}.values())


def _place(number: int) -> str:
    return f"skipped_routers:{number % 2}"
