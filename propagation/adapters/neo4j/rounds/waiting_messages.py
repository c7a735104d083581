"""The messages that wait for clients.

The database is asked for the facts that the rule needs.

Source: RecNet 2.3.1.
"""

from collections.abc import Mapping, Sequence
from dataclasses import astuple

from propagation.adapters.neo4j.connection import Transaction
from propagation.adapters.neo4j.rounds.messages import Neo4jMessages
from propagation.model import RouterVersion
from propagation.reception.message_buffer import (
    ClientEdge,
    MessageKey,
    Receiver,
    SentMessage,
    WaitingMessages,
)

STANDS = -1
"""In place of the round that closed an edge; see cypher/rounds/messages/receiver_edges."""


class Neo4jWaitingMessages(Neo4jMessages):
    """Reads the messages that wait for clients."""

    async def waiting_messages(
        self, refs_after: Mapping[int, int], through: int | None = None
    ) -> Mapping[int, Sequence[RouterVersion]]:
        waiting: dict[int, list[RouterVersion]] = {ref: [] for ref in refs_after}
        keys = (
            await self._database.read(
                lambda transaction: _waiting_keys(transaction, refs_after, through)
            )
            if refs_after
            else {}
        )
        versions = await self.brief(sorted({key for found in keys.values() for key in found}))
        for ref, found in keys.items():
            waiting[ref] = [versions[key] for key in found]
        return waiting


async def _waiting_keys(
    transaction: Transaction, refs_after: Mapping[int, int], through: int | None
) -> dict[int, list[MessageKey]]:
    last = await transaction.value("rounds/newest_rounds", limit=1) or 0
    through = last if through is None else min(through, last)
    search = WaitingMessages(await _receivers(transaction, refs_after, through), through)
    rounds, current = search.rounds(), {}
    if rounds:
        pairs = [list(pair) for pair in rounds]
        for router, round_, *sent in await transaction.rows(
            "rounds/messages/current_messages", pairs=pairs
        ):
            current[router, round_] = SentMessage(router, *sent)
    own, from_others = search.own_windows(current), {}
    if own:
        spans = [list(astuple(window)) for window in own]
        for place, *sent in await transaction.rows(
            "rounds/messages/newest_from_others", spans=spans
        ):
            from_others[own[place]] = SentMessage(own[place].router, *sent)
    return search.choose(current, from_others)


async def _receivers(
    transaction: Transaction, refs_after: Mapping[int, int], through: int
) -> list[Receiver]:
    edges: dict[int, list[ClientEdge]] = {}
    columns = await transaction.single_row(
        "rounds/messages/receiver_edges", refs=sorted(refs_after), through=through
    )
    for ref, router, opened, closed in zip(*columns, strict=True):
        edges.setdefault(ref, []).append(
            ClientEdge(router, opened, None if closed == STANDS else closed)
        )
    firsts = {ref: min(edge.opened for edge in found) for ref, found in edges.items()}
    new = sorted({first for ref, first in firsts.items() if first > refs_after[ref]})
    eras = dict(await transaction.rows("rounds/eras_of_rounds", numbers=new)) if new else {}
    return [
        Receiver(ref, refs_after[ref], found, firsts[ref], eras.get(firsts[ref], 0))
        for ref, found in edges.items()
    ]
