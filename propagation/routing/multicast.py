"""Multicast (RecNet 2.2.3, eq. 4): the routing table's change. Score(R, c) and tau are the policy's
(semantic.py, threshold.py). The messages themselves are stored once, at their router, and found by
their receivers (DESIGN, "Copies are not needed to multicast")."""

from collections.abc import Mapping, Sequence

from propagation.model.routers.router import RoutingEdge
from propagation.routing.policy import Table


def changes(
    standing: Sequence[RoutingEdge], table: Table, score_step: float
) -> tuple[list[tuple[int, int]], list[RoutingEdge]]:
    """(edges to close, edges to open): those that leave or enter, and those that moved by more than
    `score_step`."""
    old: Mapping[tuple[int, int], float] = {
        (edge.router, edge.ref): edge.score for edge in standing
    }
    closed = [key for key in old if key not in table.scores]
    opened = []
    for key, score in table.scores.items():
        if key in old:
            if abs(old[key] - score) <= score_step:
                continue
            closed.append(key)
        opened.append(RoutingEdge(router=key[0], ref=key[1], score=score, from_sequence=0))
    return sorted(closed), opened
