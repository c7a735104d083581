"""Rounds: staged in many commits, published in one (RoundStore).

Everything that a round stages carries its number; numbers above that of the last published round
are invisible.
"""

import asyncio
from collections.abc import Iterable, Iterator, Mapping, Sequence

import orjson

from propagation.adapters.neo4j.connection import Neo4jDatabase, Transaction
from propagation.adapters.neo4j.record.log import append_entry, lock_log, set_log_end
from propagation.adapters.neo4j.rounds.edges import Neo4jEdges
from propagation.adapters.neo4j.rounds.messages import Neo4jMessages, build_properties, list_parts
from propagation.adapters.neo4j.rounds.staged_rows import (
    StageCall,
    StagedRows,
    build_client_lock,
    group_by_attribute,
    split_by_client,
    split_by_size,
)
from propagation.adapters.shared.json_text import remove_nul
from propagation.call_batcher import CallBatcher
from propagation.graph_rules import check_round_follows
from propagation.model import (
    Attribute,
    EntryKind,
    Round,
    RouterVersion,
    RoutingEdge,
    StoreUnreachable,
)
from propagation.ports import POSTPONED_ARRIVALS, Lease

ROWS_PER_COMMIT = 10_000
ROWS_PER_GROUP = 1 << 31
CONCURRENT_COMMITS = 2
DISCARDS: Mapping[str, Sequence[str]] = {
    "rounds/discard/delete_parts": ("last",),
    "rounds/discard/delete_messages": ("last",),
    "rounds/discard/restore_attributes": (),
    "rounds/discard/delete_client_attributes": (),
    "index/outbox/discard_staged": (),
    "rounds/discard/delete_edges": ("last",),
    "rounds/discard/reopen_edges": ("last",),
}
"""The statements that discard a round, in order, with their parameters.

The parameter `limit`, which all of them have, is left out.
"""


class Neo4jRounds(Neo4jEdges, Neo4jMessages):
    """Stages, publishes and reads rounds."""

    def __init__(self, database: Neo4jDatabase) -> None:
        super().__init__(database)
        self._staging: CallBatcher[StageCall, None] = CallBatcher(
            lambda calls: _stage(database, calls),
            lambda call: call.rows,
            ROWS_PER_GROUP,
            (StoreUnreachable,),
        )

    async def get_last_rounds(self, limit: int) -> Sequence[Round]:
        rows = await self._database.rows("rounds/newest_rounds", limit=limit)
        return [Round.from_row(row) for row in reversed(rows)]

    async def get_rounds_after(self, number: int, limit: int) -> Sequence[Round]:
        return [
            Round.from_row(row)
            for row in await self._database.rows("rounds/rounds_after", number=number, limit=limit)
        ]

    async def find_changed_clients(self, after: int, through: int) -> Sequence[int]:
        return (
            await self._database.value("rounds/changed_clients", after=after, through=through) or []
        )

    async def begin_round(self, lease: Lease, boundary: int) -> Round:
        newest = await self.get_last_rounds(1)
        while await self._database.write(discard_staged_round, lease):
            pass
        await self._database.after_commit.finish()
        if newest:
            await self.set_edge_sequences(newest[0])
        return Round(number=newest[0].number + 1 if newest else 1, boundary=boundary)

    async def stage_attributes(
        self,
        lease: Lease,
        round_: Round,
        attributes: Sequence[Attribute],
        held: Mapping[int, Sequence[str]],
    ) -> None:
        rows = [[a.name, a.router, a.holders, a.users, a.canonical] for a in attributes]
        remove_nul(orjson.dumps(rows))
        await self._staging.submit(
            StageCall(
                lease,
                round_.number,
                held=held,
                first=[
                    StagedRows("rounds/staging/stage_attributes", rows, {"round": round_.number})
                ],
            )
        )

    async def stage_routers(
        self, lease: Lease, round_: Round, versions: Sequence[RouterVersion]
    ) -> None:
        rows = [build_properties(version, round_.number) for version in versions]
        parts = [part for version in versions for part in list_parts(version)]
        remove_nul(orjson.dumps(rows))
        await self._staging.submit(
            StageCall(
                lease,
                round_.number,
                first=[
                    _build_router_rows(version.router for version in versions),
                    StagedRows("rounds/staging/stage_messages", rows),
                ],
                then=[StagedRows("rounds/staging/stage_parts", parts, pack=group_by_attribute)],
                senders={part.ref for version in versions for part in version.integrated},
            )
        )

    async def stage_edges(
        self,
        lease: Lease,
        round_: Round,
        closed: Sequence[tuple[int, int]],
        opened: Sequence[RoutingEdge],
    ) -> None:
        await self._staging.submit(StageCall(lease, round_.number, closed=closed, opened=opened))

    async def publish_round(
        self, lease: Lease, round_: Round, postponed: bytes | None = None
    ) -> Round:
        async def work(transaction: Transaction) -> Round:
            await check_round_is_next(transaction, round_)
            end = await lock_log(transaction)
            sequence = await append_entry(transaction, end, EntryKind.ROUND, (), round_.number)
            await set_log_end(transaction, end)
            if postponed is not None:
                await transaction.execute(
                    "connection/store_fact", name=POSTPONED_ARRIVALS, value=postponed
                )
            return await publish_staged_round(transaction, round_, sequence)

        published = await self._database.write(work, lease)
        self.set_sequences_after_commit(published)
        return published

    async def get_attributes(self, names: Sequence[str]) -> Mapping[str, Attribute]:
        rows = (
            await self._database.table("rounds/attributes/attributes", names=list(names))
            if names
            else []
        )
        return {row[0]: Attribute.from_row(row) for row in rows}

    async def get_all_attributes(self) -> Sequence[Attribute]:
        return [
            Attribute.from_row(row)
            for row in await self._database.rows("rounds/attributes/list_attributes")
        ]

    async def get_client_attributes(self, refs: Sequence[int]) -> Mapping[int, Sequence[str]]:
        held = {
            ref: tuple(names)
            for ref, names in await self._database.table(
                "rounds/attributes/attributes_of_clients", refs=list(refs)
            )
        }
        return {ref: held.get(ref, ()) for ref in refs}

    async def get_holders(
        self, attributes: Sequence[str], limit: int
    ) -> Mapping[str, Sequence[int]]:
        return dict(
            await self._database.table(
                "rounds/attributes/clients_with_attributes", names=list(attributes), limit=limit
            )
        )


def _build_router_rows(numbers: Iterable[int]) -> StagedRows:
    return StagedRows("rounds/staging/create_routers", sorted(set(numbers)))


async def _stage(database: Neo4jDatabase, calls: Sequence[StageCall]) -> Sequence[None]:
    """Stage calls, in one commit if they fit into it.

    Even a call without rows checks its lease. If several commits are needed, those with routers,
    attributes and messages come first, because the others need them. Then parts of messages, which
    touch no client, are written one commit after another, while other commits change clients.

    Raises:
        LeaseLost: The round's lease was taken over.
    """
    first = [
        *(batch for call in calls for batch in call.first),
        _build_router_rows(edge.router for call in calls for edge in call.opened),
    ]
    then = [batch for call in calls for batch in call.then]
    leases = list({call.lease.token: call.lease for call in calls}.values())
    if sum(call.rows for call in calls) <= ROWS_PER_COMMIT:
        clients = [batch for _, rows in split_by_client(calls, ROWS_PER_COMMIT) for batch in rows]
        lock = build_client_lock(ref for call in calls for ref in call.clients)
        await _commit(
            database, leases, [batch for batch in (lock, *first, *then, *clients) if batch.rows]
        )
        return [None] * len(calls)
    await _run_commits(database, leases, split_by_size(first, ROWS_PER_COMMIT))
    commits = (
        [build_client_lock(refs), *rows] for refs, rows in split_by_client(calls, ROWS_PER_COMMIT)
    )
    tasks_for_clients = (
        1 if any(call.closed for call in calls) else CONCURRENT_COMMITS
    )  # a commit that closes edges locks routers that other commits need
    lanes = [
        asyncio.create_task(_run_commits(database, leases, lane))
        for lane in (split_by_size(then, ROWS_PER_COMMIT), *([commits] * tasks_for_clients))
    ]
    try:
        await asyncio.gather(*lanes)
    finally:
        for lane in lanes:
            lane.cancel()
        await asyncio.gather(*lanes, return_exceptions=True)
    return [None] * len(calls)


async def _run_commits(
    database: Neo4jDatabase, leases: Sequence[Lease], commits: Iterator[Sequence[StagedRows]]
) -> None:
    """Make the commits that no other task has taken from the iterator."""
    for commit in commits:
        await _commit(database, leases, commit)


async def _commit(
    database: Neo4jDatabase, leases: Sequence[Lease], staged: Sequence[StagedRows]
) -> None:
    """Write rows, then check the leases.

    A check locks the lease until the commit. It comes last, so that other commits can run while the
    rows are written.
    """

    async def work(transaction: Transaction) -> None:
        for batch in staged:
            await transaction.execute(batch.name, rows=batch.pack(batch.rows), **batch.parameters)
        for lease in leases:
            await transaction.check_lease(lease)

    await database.write(work)


async def check_round_is_next(transaction: Transaction, round_: Round) -> None:
    """Check that no other round was published since this one began.

    Raises:
        LeaseLost: Another round was published.
    """
    check_round_follows(
        round_.number, await transaction.value("rounds/newest_rounds", limit=1) or 0
    )


async def publish_staged_round(transaction: Transaction, round_: Round, sequence: int) -> Round:
    """Make everything visible that was staged for the round.

    Args:
        sequence: The sequence of the log entry that publishes the round.

    Returns:
        The round with its sequence.
    """
    await transaction.execute("index/outbox/publish_changes", now=transaction.now())
    await transaction.execute("rounds/staging/publish_attributes", round=round_.number)
    await transaction.execute("rounds/staging/publish_client_attributes", round=round_.number)
    published = round_.model_copy(update={"sequence": sequence})
    await transaction.execute("rounds/staging/publish_round", **published.model_dump())
    return published


async def discard_staged_round(transaction: Transaction) -> int:
    """Discard up to 10,000 rows that an unfinished round staged.

    Returns:
        How many rows were discarded; 0 if none are left.
    """
    last = await transaction.value("rounds/newest_rounds", limit=1) or 0
    discarded = 0
    for name, parameters in DISCARDS.items():
        if discarded < ROWS_PER_COMMIT:
            arguments = {"last": last} if "last" in parameters else {}
            discarded += await transaction.value(
                name, limit=ROWS_PER_COMMIT - discarded, **arguments
            )
    return discarded
