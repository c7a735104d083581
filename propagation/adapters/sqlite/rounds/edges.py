"""The routing table: current edges in `edge`, ended ones in `edge_past`.

Reads skip changes whose round number is not published yet.

Source: RecNet 2.2.3.
"""

import sqlite3
from collections.abc import Mapping, Sequence

from propagation.adapters.sqlite.connection import (
    SqlitePart,
    reads,
    spread_fields,
    to_json,
    writes_under_lease,
)
from propagation.adapters.sqlite.rounds.messages import find_last_round
from propagation.model import Round, RoutingEdge

SEQUENCED = (
    "SELECT e.router, e.ref, e.score, o.sequence FROM ({}) e JOIN round o ON o.number = e.opened"
)
# Edges that were current at the end of round ?1: some still are, others ended later.
CURRENT_AT = (
    "SELECT router, ref, score, opened, NULL AS closed FROM edge WHERE opened <= ?1 AND {0}"
    " UNION ALL SELECT router, ref, score, opened, closed FROM edge_past WHERE closed > ?1 AND "
    "opened <= ?1 AND {0}"
)
# By client and end, so that edges that ended long ago are not read.
OF_CLIENTS = SEQUENCED.format(
    (
        "SELECT e.* FROM json_each(?2) j CROSS JOIN edge e ON e.ref = j.value WHERE e.opened <= ?1"
        " UNION ALL SELECT e.router, e.ref, e.score, e.opened FROM json_each(?2) j CROSS JOIN "
        "edge_past e INDEXED BY edge_past_ref"
        " ON e.ref = j.value AND e.closed > ?1 WHERE e.opened <= ?1"
    ),
)
MEMBERS = (
    SEQUENCED.format(CURRENT_AT.format("router = ?2")) + " ORDER BY e.score DESC, e.ref LIMIT ?3"
)
OF_ROUTERS = CURRENT_AT.format("router IN (SELECT value FROM json_each(?2))")
# The edges of a router are counted in its index, which does not have `opened`. Those that were
# opened later are found in one pass through the table. To look each edge of the index up takes over
# a second for a million edges.
COUNTS = (
    "WITH late AS MATERIALIZED (SELECT router FROM edge WHERE opened > ?1),"
    " ended AS MATERIALIZED (SELECT router FROM edge_past WHERE closed > ?1 AND opened <= ?1)"
    " SELECT router, sum(edges) FROM ("
    "SELECT j.value AS router, (SELECT count(*) FROM edge e WHERE e.router = j.value) AS edges"
    " FROM json_each(?2) j"
    " UNION ALL SELECT router, -count(*) FROM late GROUP BY router"
    " UNION ALL SELECT router, count(*) FROM ended GROUP BY router)"
    " WHERE router IN (SELECT value FROM json_each(?2)) GROUP BY router HAVING sum(edges) > 0"
)
# If an edge is opened anew, its old score is kept in edge_past, whichever part of the round's
# changes is staged first. A part that is staged twice changes nothing.
CLOSE_EDGES = (
    "INSERT INTO edge_past (router, ref, score, opened, closed) SELECT e.router, e.ref, e.score, "
    "e.opened, ?1"
    " FROM json_each(?2) j CROSS JOIN edge e ON e.ref = j.value->>0 AND e.router = j.value->>1 "
    "WHERE e.opened < ?1"
)
DELETE_EDGES = (
    "DELETE FROM edge WHERE (ref, router) IN (SELECT value->>0, value->>1 FROM json_each(?2)) "
    "AND opened < ?1"
)
OPEN_EDGES = (
    f"INSERT INTO edge (ref, router, score, opened) SELECT {spread_fields(3)}, ?1"
    " FROM json_each(?2) WHERE true"
    " ON CONFLICT (ref, router) DO UPDATE SET score = excluded.score, opened = excluded.opened"
)


class SqliteEdges(SqlitePart):
    """Stages changes of the routing table, and reads it at any round."""

    @writes_under_lease
    def stage_edges(
        self,
        connection: sqlite3.Connection,
        round_: Round,
        closed: Sequence[tuple[int, int]],
        opened: Sequence[RoutingEdge],
    ) -> None:
        rows = sorted((edge.ref, edge.router, edge.score) for edge in opened)
        anew = {row[:2] for row in rows}
        ended = sorted((ref, router) for router, ref in closed)
        connection.execute(CLOSE_EDGES, (round_.number, to_json(sorted({*anew, *ended}))))
        connection.execute(
            DELETE_EDGES, (round_.number, to_json([key for key in ended if key not in anew]))
        )
        connection.execute(OPEN_EDGES, (round_.number, to_json(rows)))

    @reads
    def get_edges(
        self, connection: sqlite3.Connection, refs: Sequence[int]
    ) -> Mapping[int, Sequence[RoutingEdge]]:
        edges: dict[int, list[RoutingEdge]] = {ref: [] for ref in refs}
        for row in connection.execute(
            OF_CLIENTS, (find_last_round(connection), to_json(list(edges)))
        ).fetchall():
            edges[row[1]].append(RoutingEdge(*row))
        return {
            ref: sorted(found, key=lambda edge: (-edge.score, edge.router))
            for ref, found in edges.items()
        }

    @reads
    def get_members(
        self, connection: sqlite3.Connection, router: int, limit: int, at: int | None = None
    ) -> Sequence[RoutingEdge]:
        return [
            RoutingEdge(*row)
            for row in connection.execute(MEMBERS, (find_last_round(connection, at), router, limit))
        ]

    @reads
    def get_edges_to(
        self, connection: sqlite3.Connection, routers: Sequence[int]
    ) -> Sequence[RoutingEdge]:
        return [
            RoutingEdge(*row)
            for row in connection.execute(
                SEQUENCED.format(OF_ROUTERS), (find_last_round(connection), to_json(list(routers)))
            )
        ]

    @reads
    def count_members(
        self, connection: sqlite3.Connection, routers: Sequence[int], at: int | None = None
    ) -> Mapping[int, int]:
        return dict(
            connection.execute(
                COUNTS, (find_last_round(connection, at), to_json(sorted(set(routers))))
            ).fetchall()
        )


def discard_edges(connection: sqlite3.Connection, last: int) -> None:
    """Undo the changes that rounds after the last published one staged."""
    connection.execute("DELETE FROM edge WHERE opened > ?", (last,))
    connection.execute(
        "INSERT OR REPLACE INTO edge (router, ref, score, opened) SELECT router, ref, score, "
        "opened FROM edge_past"
        " WHERE closed > ?1 AND opened <= ?1",
        (last,),
    )
    connection.execute("DELETE FROM edge_past WHERE closed > ?", (last,))
