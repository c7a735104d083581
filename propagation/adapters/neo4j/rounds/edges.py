"""The routing table: ROUTES_TO relationships.

Each relationship has the numbers of the rounds that opened and closed it, which decide whether it
is visible. It also has the sequences of these rounds, which are set after a round is published;
until then a sequence is read from the round.
"""

import asyncio
from collections.abc import Mapping, Sequence

from propagation.adapters.neo4j.connection import StorePart, Transaction
from propagation.model import Round, RoutingEdge

EDGES_PER_COMMIT = 20_000
ROUTERS_PER_READ = 4


class Neo4jEdges(StorePart):
    """Reads published edges, and sets the sequences of a published round."""

    _sequences_set = 0
    """The last round whose edges are known to have their sequences."""

    async def get_edges(self, refs: Sequence[int]) -> Mapping[int, Sequence[RoutingEdge]]:
        edges: dict[int, list[RoutingEdge]] = {ref: [] for ref in refs}
        row = await self._database.row("rounds/edges/current_edges_of_clients", refs=sorted(edges))
        for ref, router, score, sequence in zip(*(row or ()), strict=True):
            edges[ref].append(RoutingEdge(router, ref, score, sequence))
        return edges

    async def get_members(
        self, router: int, limit: int, at: int | None = None
    ) -> Sequence[RoutingEdge]:
        row = await self._database.row("rounds/edges/members", router=router, limit=limit, at=at)
        return [RoutingEdge(router, *edge) for edge in zip(*(row or ()), strict=True)]

    async def get_edges_to(self, routers: Sequence[int]) -> Sequence[RoutingEdge]:
        distinct = sorted(set(routers))
        parts = await asyncio.gather(
            *(
                self._database.row(
                    "rounds/edges/current_edges_of_routers",
                    routers=distinct[start : start + ROUTERS_PER_READ],
                )
                for start in range(0, len(distinct), ROUTERS_PER_READ)
            )
        )
        return [RoutingEdge(*edge) for part in parts for edge in zip(*(part or ()), strict=True)]

    async def count_members(
        self, routers: Sequence[int], at: int | None = None
    ) -> Mapping[int, int]:
        return dict(
            await self._database.rows(
                "rounds/edges/count_members", routers=sorted(set(routers)), at=at
            )
        )

    def set_sequences_after_commit(self, round_: Round) -> None:
        """Set the sequences of a published round in the background.

        Only analysts read the sequences on edges.
        """
        self._database.after_commit.start(
            f"setting the sequences of round {round_.number}",
            lambda: self.set_edge_sequences(round_),
        )

    async def set_edge_sequences(self, round_: Round) -> None:
        """Set the sequence of a published round on its edges.

        One transaction sets the sequence for all routers, or if there are many edges, one for each
        router. This can be repeated: after a crash, the next round sets the missing sequences.
        """
        if self._sequences_set == round_.number:
            return
        numbers = await self._database.value("rounds/edges/list_routers")
        if not numbers:
            return
        many = round_.edges_opened + round_.edges_closed > EDGES_PER_COMMIT
        for first, until in (
            [(number, number + 1) for number in numbers]
            if many
            else [(numbers[0], numbers[-1] + 1)]
        ):

            async def work(
                transaction: Transaction, first: int = first, until: int = until
            ) -> None:
                for name in (
                    "rounds/edges/set_opened_sequence",
                    "rounds/edges/set_closed_sequence",
                ):
                    await transaction.execute(
                        name,
                        round=round_.number,
                        sequence=round_.sequence,
                        first=first,
                        until=until,
                    )

            await self._database.write(work)
        self._sequences_set = round_.number
