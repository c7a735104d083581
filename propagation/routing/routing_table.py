"""The routing table: which clients each router reaches, and its changes.

Source: RecNet 2.2.3.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from propagation.model import Round, RoutingEdge
from propagation.ports import Lease, RoundStore

EDGES_A_COMMIT = 10_000


@dataclass(frozen=True)
class RoutingTable:
    """A part of the table as it should be now.

    It is complete either for the named clients or for the named routers.

    Attributes:
        scores: By (router, ref).
        clients: Clients that the part is complete for; empty if it is complete for routers.
        routers: Routers that the part is complete for; empty if it is complete for clients.
    """

    scores: Mapping[tuple[int, int], float]
    clients: Sequence[int] = ()
    routers: Sequence[int] = ()


@dataclass(frozen=True)
class TableChange:
    """Edges to close, by (router, ref), and edges to open."""

    closed: Sequence[tuple[int, int]]
    opened: Sequence[RoutingEdge]


def find_table_changes(
    edges: Sequence[RoutingEdge], table: RoutingTable, score_step: float
) -> TableChange:
    """Compare the current edges with the table as it should be.

    An edge whose score moved by at most `score_step` stays as it is, to save writes.
    """
    old = {(edge.router, edge.ref): edge.score for edge in edges}
    changed = {
        key: score
        for key, score in table.scores.items()
        if key not in old or abs(old[key] - score) > score_step
    }
    return TableChange(
        closed=sorted(key for key in old if key not in table.scores or key in changed),
        opened=[
            RoutingEdge(router=router, ref=ref, score=score, from_sequence=0)
            for (router, ref), score in changed.items()
        ],
    )


async def stage_table_change(
    store: RoundStore, lease: Lease, round_: Round, change: TableChange
) -> None:
    """Stage the change in parts, concurrently.

    A store may group the parts into one commit.
    """
    await asyncio.gather(
        *(
            store.stage_edges(
                lease,
                round_,
                change.closed[start : start + EDGES_A_COMMIT],
                change.opened[start : start + EDGES_A_COMMIT],
            )
            for start in range(0, max(len(change.closed), len(change.opened)), EDGES_A_COMMIT)
        )
    )
