"""The commit of a retraction or an erasure.

Locks are taken in the one order of docs/architecture.md: the lease, the log's end, the claims,
clients by ref, and the commit numbers of texts. The commit makes things invisible; the sweep
deletes them later.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson

from propagation.adapters.neo4j.connection import Neo4jDatabase, Transaction
from propagation.adapters.neo4j.forget.learned_rows import mark_rows
from propagation.adapters.neo4j.index.outbox import enqueue_messages
from propagation.adapters.neo4j.learn.checkpoints import publish_barrier
from propagation.adapters.neo4j.reason.text_changes import NewTexts, build_text_body, prepare_texts
from propagation.adapters.neo4j.reason.texts import (
    TEXTS_PER_READ,
    build_text,
    create_texts,
    lock_clients,
)
from propagation.adapters.neo4j.record.log import LogEnd, append_entry, lock_log, set_log_end
from propagation.adapters.neo4j.record.record import store_forgotten_events
from propagation.adapters.neo4j.rounds.rounds import ROWS_PER_COMMIT, discard_staged_round
from propagation.adapters.shared.text_bodies import BodyEncoder
from propagation.graph_rules import (
    KINDS_WITH_OTHERS,
    WithdrawalStep,
    check_orphans,
    check_uncited,
    find_lost_attributes,
    list_entries,
    list_held_attributes,
    names_one,
    order_withdrawal_steps,
)
from propagation.model import (
    SENDERS_KEPT,
    ClientText,
    Module,
    StagedCheckpoint,
    Withdrawal,
    WithdrawalResult,
    find_lone_sender,
    get_kind,
    group_pairs,
    split_into_batches,
)
from propagation.ports import CACHED, COLLECTIONS, POSTPONED_ARRIVALS, Collection, Lease

ROWS_PER_STATEMENT = 2_000
COMMIT_STATEMENTS = (
    "rounds/newest_rounds",
    "rounds/discard/delete_client_attributes",
    "rounds/discard/delete_edges",
    "rounds/discard/delete_messages",
    "rounds/discard/delete_parts",
    "rounds/discard/reopen_edges",
    "rounds/discard/restore_attributes",
    "index/outbox/discard_staged",
    "forget/withdrawal/update_texts",
    "record/log/lock_log",
    "reason/claims/delete_claims",
    "reason/texts/lock_clients",
    "reason/texts/texts_after",
    "forget/events/orphans",
    "learn/blocks/discard_staged_blocks",
    "forget/events/events_of_client",
    "record/events/create_hash_key",
    "record/events/store_forgotten_hashes",
    "forget/client/delete_retracted_events",
    "forget/events/recorded_interactions",
    "forget/events/create_retracted_events",
    "learn/blocks/draws_of_sequences",
    "forget/learned_rows/mark_rows",
    "forget/events/create_gaps",
    "forget/events/delete_commits",
    "record/log/create_entry",
    "reason/texts/current_texts",
    "reason/texts/change_parts",
    "reason/texts/take_commit_numbers",
    "reason/texts/create_versions",
    "index/outbox/delete_changes_of_client",
    "forget/client/strip_log",
    "forget/client/detach_texts",
    "forget/client/delete_parts",
    "forget/client/delete_client",
    "forget/client/move_texts",
    "forget/client/move_merges",
    "forget/messages/reduce_messages",
    "forget/messages/gradients_of_readers",
    "forget/withdrawal/delete_gradients",
    "forget/withdrawal/set_client_attributes",
    "forget/withdrawal/update_holders",
    "forget/withdrawal/remove_unused_attributes",
    "forget/search/gradients_with_words",
    "forget/client/delete_attributes",
    "forget/messages/update_messages",
    "index/outbox/add_changes",
    "forget/messages/first_senders",
    "forget/messages/update_senders",
    "connection/store_fact",
    "forget/withdrawal/update_reports",
    "forget/search/failures",
    "forget/withdrawal/clear_failures",
    "learn/checkpoints/publish_checkpoint",
    "learn/checkpoints/delete_checkpoints",
    "learn/blocks/drop_trust",
    "forget/wiping/add_pending_client",
    "forget/progress/set_last_withdrawal",
    "forget/withdrawal/empty_caches",
    "forget/withdrawal/clear_exchanges",
    "record/log/set_log_end",
)
"""The statements of a withdrawal, in the order of their first use.

An erasure and a retraction each use most of them.
"""


async def withdraw(
    database: Neo4jDatabase,
    lease: Lease,
    withdrawal: Withdrawal,
    barrier: StagedCheckpoint,
) -> WithdrawalResult:
    """Publish a withdrawal in one commit.

    Work that would make this commit large is done in commits before it, or by the sweep after it.
    """
    past, current = _separate_past(withdrawal)

    while await database.write(discard_staged_round, lease) >= ROWS_PER_COMMIT:
        pass
    await _rewrite_past(database, lease, past)
    new = await asyncio.to_thread(prepare_texts, withdrawal.texts)
    bodies = await asyncio.to_thread(_build_body_rows, current, BodyEncoder())
    return await database.write(
        lambda transaction: WithdrawalCommit(transaction, withdrawal, barrier, new, bodies).run(),
        lease,
    )


def _separate_past(withdrawal: Withdrawal) -> tuple[list[ClientText], list[ClientText]]:
    """Separate rewritten texts into past versions and current ones.

    Past versions are rewritten in commits of their own before the commit of the withdrawal, because
    any number of them may cite a client. If the commit of the withdrawal fails, nothing is
    withdrawn, and only past versions have lost some content.

    Returns:
        The past versions, and the current ones, which `withdrawal.texts` follow.
    """
    follow = {(text.profile.ref, text.profile.version - 1) for text in withdrawal.texts}
    past: list[ClientText] = []
    current: list[ClientText] = []
    for text in withdrawal.rewritten:
        (current if (text.profile.ref, text.profile.version) in follow else past).append(text)
    return past, current


async def _rewrite_past(database: Neo4jDatabase, lease: Lease, past: Sequence[ClientText]) -> None:
    """Rewrite past versions.

    While the server writes some, the bodies of the next ones are built.
    """
    encoder = BodyEncoder()
    rows: list[list[object]] = []

    async def write(rows: list[list[object]]) -> None:
        if rows:
            await database.execute("forget/withdrawal/update_texts", lease, rows=rows)

    for batch in (*split_into_batches(past, ROWS_PER_STATEMENT), ()):
        building = asyncio.ensure_future(asyncio.to_thread(_build_body_rows, batch, encoder))
        # Both end before an error of either is raised: no write goes on after it.
        ended = await asyncio.gather(building, write(rows), return_exceptions=True)
        for error in ended:
            if isinstance(error, BaseException):
                raise error
        rows = building.result()


def _build_body_rows(texts: Sequence[ClientText], encoder: BodyEncoder) -> list[list[object]]:
    """Build rows of cypher/forget/withdrawal/update_texts."""
    return [
        [text.profile.ref, text.profile.version, build_text_body(text, encoder)] for text in texts
    ]


@dataclass
class WithdrawalCommit:
    """The statements of each step of a withdrawal; graph_rules/withdrawal_order has their order.

    Attributes:
        new: The texts of the withdrawal, prepared.
        current: Rows of cypher/forget/withdrawal/update_texts for the rewritten texts which these
            follow.
        sequences: Sequences of the withdrawn interactions.
        erased_sequences: The same of an erasure, with those of events that were retracted before.
        sequence: Sequence of the withdrawal's log entry.
        end: The end of the log, once the log is locked.
    """

    transaction: Transaction
    withdrawal: Withdrawal
    barrier: StagedCheckpoint
    new: NewTexts
    current: Sequence[list[object]]
    sequences: Sequence[int] = ()
    erased_sequences: Sequence[int] = ()
    sequence: int = 0
    end: LogEnd = field(init=False)

    async def run(self) -> WithdrawalResult:
        """Run every step in this transaction.

        Raises:
            VersionClash: A text that was committed since the search cites withdrawn data.
        """
        steps: dict[WithdrawalStep, Callable[[], Awaitable[object]]] = {
            WithdrawalStep.VOID_CLAIMS: self._void_claims,
            WithdrawalStep.CHECK_CITATIONS: self._check_citations,
            WithdrawalStep.DISCARD_STAGED: self._discard_staged,
            WithdrawalStep.WITHDRAW_INTERACTIONS: self._withdraw_interactions,
            WithdrawalStep.APPEND_LOG_ENTRY: self._append_log_entry,
            WithdrawalStep.CHANGE_TEXTS: self._change_texts,
            WithdrawalStep.ERASE_CLIENT: self._erase_client,
            WithdrawalStep.MOVE_TEXTS: self._move_texts,
            WithdrawalStep.REDUCE_MESSAGES: self._reduce_messages,
            WithdrawalStep.CHANGE_ATTRIBUTES: self._change_attributes,
            WithdrawalStep.CHANGE_MESSAGES: self._change_messages,
            WithdrawalStep.PUBLISH_BARRIER: self._publish_barrier,
            WithdrawalStep.MARK_FOR_WIPING: lambda: self.transaction.execute(
                "forget/wiping/add_pending_client", erased_refs=list(self.withdrawal.erased_refs)
            ),
            WithdrawalStep.RECORD_SEQUENCE: lambda: self.transaction.execute(
                "forget/progress/set_last_withdrawal", sequence=self.sequence
            ),
            WithdrawalStep.EMPTY_CACHES: self._empty_caches,
        }
        self.end = await lock_log(self.transaction)
        for step in order_withdrawal_steps(self.withdrawal):
            await steps[step]()
        await set_log_end(self.transaction, self.end)
        return WithdrawalResult(sequence=self.sequence, interactions=len(self.sequences))

    async def _void_claims(self) -> None:
        await self.transaction.execute("reason/claims/delete_claims")

    async def _check_citations(self) -> None:
        """Check that no newer text cites withdrawn data, and block new texts.

        A newer text is one that was committed since the search. The first read locks the commit
        numbers of texts, which every commit of a text needs.
        """
        taken = (*self.withdrawal.refs, *self.withdrawal.orphans)
        await lock_clients(self.transaction, self.withdrawal.texts, taken)
        number = self.withdrawal.texts_read_through
        while rows := await self.transaction.table(
            "reason/texts/texts_after", number=number, limit=TEXTS_PER_READ
        ):
            newer = await self.transaction.table(
                "reason/texts/texts_of_versions", keys=[key for _, *key in rows]
            )
            check_uncited(self.withdrawal, map(build_text, newer))
            number = rows[-1][0]
        if (ref := self.withdrawal.erased) is not None:
            found = await self.transaction.rows("forget/events/orphans", ref=ref)
            check_orphans(self.withdrawal, [orphan for (orphan,) in found])

    async def _discard_staged(self) -> None:
        while await discard_staged_round(self.transaction):
            pass
        await self.transaction.execute("learn/blocks/discard_staged_blocks")

    async def _withdraw_interactions(self) -> None:
        """Turn interactions into gaps of the log, and mark their learned rows.

        An erasure takes all interactions of the client, also those recorded since the search.
        """
        transaction = self.transaction
        erased = self.withdrawal.erased
        if erased is not None:
            recorded, retracted = await transaction.row(
                "forget/events/events_of_client", ref=erased
            ) or [[], []]
            events = [*recorded, *retracted]
            await store_forgotten_events(transaction, sorted({event_id for _, event_id in events}))
            self.erased_sequences = sorted({sequence for sequence, _ in events})
            await transaction.execute("forget/client/delete_retracted_events", ref=erased)
        else:
            recorded = await transaction.rows(
                "forget/events/recorded_interactions",
                sequences=[row.sequence for row in self.withdrawal.interactions],
            )
        self.sequences = sorted({sequence for sequence, _ in recorded})
        if erased is None:
            await transaction.execute(
                "forget/events/create_retracted_events", sequences=self.sequences
            )
        learned = await mark_rows(transaction, self.sequences, self.withdrawal.promoted)
        for batch in split_into_batches(self.sequences, ROWS_PER_STATEMENT):
            await transaction.execute(
                "forget/events/create_gaps",
                rows=[[sequence, sequence in learned] for sequence in batch],
            )
        await transaction.execute("forget/events/delete_commits", sequences=self.sequences)

    async def _append_log_entry(self) -> None:
        for kind, refs in list_entries(self.withdrawal):
            number = self.barrier.sequence if kind is self.withdrawal.kind else 0
            self.sequence = await append_entry(self.transaction, self.end, kind, refs, number)

    async def _change_texts(self) -> None:
        """Create the next versions, and rewrite those which were current until now.

        In this order: what changes among nodes is found against the stored bodies. If a body were
        rewritten before, its nodes would keep the old words.
        """
        await create_texts(self.transaction, self.new, [self.sequence] * len(self.new.texts), ())
        for batch in split_into_batches(self.current, ROWS_PER_STATEMENT):
            await self.transaction.execute("forget/withdrawal/update_texts", rows=batch)

    async def _move_texts(self) -> None:
        await self.transaction.execute(
            "forget/client/move_texts",
            sequences=self.erased_sequences,
            to=self.sequence,
            now=self.transaction.now(),
        )
        await self.transaction.execute(
            "forget/client/move_merges", sequences=self.erased_sequences, to=self.sequence
        )

    async def _erase_client(self) -> None:
        transaction, erased_refs = self.transaction, list(self.withdrawal.erased_refs)
        by_collection = group_pairs((COLLECTIONS[get_kind(ref)], ref) for ref in erased_refs)
        for collection, refs in by_collection.items():
            await self._dequeue(collection, refs)
        await transaction.execute(
            "forget/client/strip_log",
            erased_refs=erased_refs,
            kinds=[kind.value for kind in KINDS_WITH_OTHERS],
        )
        await transaction.execute("forget/client/detach_texts", erased_refs=erased_refs)
        await transaction.execute("forget/client/delete_parts", erased_refs=erased_refs)
        await transaction.execute("forget/client/delete_client", erased_refs=erased_refs)

    async def _reduce_messages(self) -> None:
        rows = [[*key, sorted(names)] for key, names in self.withdrawal.reduced_messages.items()]
        if rows:
            await self.transaction.execute(
                "forget/messages/reduce_messages", rows=rows, sequences=self.sequences
            )
            await self._delete_naming(
                await self.transaction.table("forget/messages/gradients_of_readers", rows=rows)
            )

    async def _change_attributes(self) -> None:
        """Change clients' attributes and counts of holders, and remove lost attributes.

        Gradients that name a lost attribute are deleted, and so are its changes in the outbox.
        """
        withdrawal = self.withdrawal
        transaction = self.transaction
        if withdrawal.client_attributes:
            await transaction.execute(
                "forget/withdrawal/set_client_attributes",
                rows=[[ref, list(names)] for ref, names in withdrawal.client_attributes.items()],
            )
        if held := list_held_attributes(withdrawal):
            rows = [[one.name, one.holders, one.users] for one in held]
            await transaction.execute("forget/withdrawal/update_holders", rows=rows)
        if lost := find_lost_attributes(withdrawal):
            await transaction.execute("forget/withdrawal/remove_unused_attributes", names=lost)
            found = await transaction.table(
                "forget/search/gradients_with_words",
                modules=[module.value for module in Module],
                words=lost,
            )
            await self._delete_naming([[*gradient, lost] for gradient in found])
            await self._dequeue(Collection.ATTRIBUTES, lost)
        if lost or withdrawal.unmapped:
            await transaction.execute(
                "forget/client/delete_attributes", names=lost, unmapped=sorted(withdrawal.unmapped)
            )

    async def _delete_naming(self, gradients: Sequence[Sequence[Any]]) -> None:
        """Delete the gradients that contain a name which must not stay.

        Args:
            gradients: Of each the id, text, attributes, and the names that must not stay.
        """
        await self.transaction.execute(
            "forget/withdrawal/delete_gradients",
            ids=[gradient for gradient, *parts in gradients if names_one(*parts)],
        )

    async def _dequeue(self, collection: Collection, keys: Sequence[int | str]) -> None:
        """Delete the changes of some keys from the outbox."""
        await self.transaction.execute(
            "index/outbox/delete_changes_of_client",
            collection=collection.value,
            keys=[orjson.dumps(key).decode() for key in keys],
        )

    async def _change_messages(self) -> None:
        withdrawal = self.withdrawal
        if withdrawal.messages:
            await self.transaction.execute(
                "forget/messages/update_messages",
                rows=[
                    [
                        message.router,
                        message.version,
                        message.name,
                        message.text,
                        list(message.attributes),
                        [name for name, _ in message.standing],
                        [float(weight) for _, weight in message.standing],
                    ]
                    for message in withdrawal.messages
                ],
            )
            await enqueue_messages(self.transaction, withdrawal.messages)
        if withdrawal.reduced_messages:
            await self.transaction.execute(
                "forget/messages/update_senders",
                rows=[
                    [*row, find_lone_sender(frozenset(row[2]))]
                    for row in await self.transaction.table(
                        "forget/messages/first_senders",
                        keys=[list(key) for key in withdrawal.reduced_messages],
                        senders=SENDERS_KEPT,
                    )
                ],
            )
        if withdrawal.postponed is not None:
            await self.transaction.execute(
                "connection/store_fact", name=POSTPONED_ARRIVALS, value=withdrawal.postponed
            )
        if withdrawal.reports:
            await self.transaction.execute(
                "forget/withdrawal/update_reports",
                rows=[[run.run, run.model_dump_json()] for run in withdrawal.reports],
            )
        if withdrawal.words:
            sequences = [
                sequence
                for sequence, failure in await self.transaction.table("forget/search/failures")
                if names_one(failure, (), withdrawal.words)
            ]
            await self.transaction.execute("forget/withdrawal/clear_failures", sequences=sequences)

    async def _empty_caches(self) -> None:
        await self.transaction.execute("forget/withdrawal/empty_caches", prefix=CACHED)
        await self.transaction.execute("forget/withdrawal/clear_exchanges")

    async def _publish_barrier(self) -> None:
        await publish_barrier(self.transaction, self.barrier)
