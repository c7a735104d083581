"""The commit of a retraction or an erasure.

Its steps are those of propagation/graph_rules/withdrawal_order.py. Locks are taken in the order of
every other commit: lease, log, claims, clients, texts. The commit makes things invisible; the sweep
deletes them later.
"""

from collections.abc import Sequence

import orjson

from propagation.adapters.neo4j.connection.database import Neo4jDatabase, Transaction
from propagation.adapters.neo4j.connection.leases import check_fence
from propagation.adapters.neo4j.forget.learned_rows import mark_rows
from propagation.adapters.neo4j.index.outbox import COLLECTIONS, enqueue_messages, enqueue_texts
from propagation.adapters.neo4j.learn.checkpoints import publish_checkpoint
from propagation.adapters.neo4j.reason.texts import create_texts, lock_clients, text_rows
from propagation.adapters.neo4j.record.forgotten_events import store_forgotten_events
from propagation.adapters.neo4j.record.log import append_entry, lock_log, set_log_end
from propagation.adapters.neo4j.rounds.messages import SENDERS_KEPT
from propagation.adapters.neo4j.rounds.rounds import ROWS_PER_COMMIT, discard_staged_round
from propagation.graph_rules.withdrawal_order import lost_attributes, remaining_holders
from propagation.model import (
    ClientText,
    Module,
    StagedCheckpoint,
    Withdrawal,
    WithdrawalResult,
    kind_of,
)
from propagation.ports import Collection, Lease, VersionClash

ROWS_PER_STATEMENT = 2_000


async def withdraw(
    database: Neo4jDatabase,
    lease: Lease,
    withdrawal: Withdrawal,
    barrier: StagedCheckpoint,
) -> WithdrawalResult:
    """Publish a withdrawal in one commit.

    What would make this commit large is done in commits before it, or by the sweep after it.
    """
    past, current = _separate_past(withdrawal)

    async def discard(transaction: Transaction) -> int:
        await check_fence(transaction, lease)
        return await discard_staged_round(transaction)

    async def work(transaction: Transaction) -> WithdrawalResult:
        await check_fence(transaction, lease)
        end = await lock_log(transaction)
        await transaction.execute("reason/claims/delete_claims")
        await lock_clients(transaction, withdrawal.texts)
        await check_citations(transaction, withdrawal)
        while await discard_staged_round(transaction):
            pass
        await transaction.execute("learn/blocks/discard_staged_blocks")
        sequences = await _withdraw_interactions(transaction, withdrawal)
        sequence = await append_entry(
            transaction, end, withdrawal.kind, withdrawal.refs, barrier.sequence
        )
        await _change_texts(transaction, withdrawal.texts, current, sequence)
        if withdrawal.erased is not None:
            await _erase_client(
                transaction, withdrawal.erased, withdrawal.sent_under, withdrawal.words
            )
        elif withdrawal.reduced_messages:
            await transaction.execute(
                "forget/withdrawal/delete_parts_of_interactions",
                keys=[list(key) for key in withdrawal.reduced_messages],
                sequences=sequences,
            )
        await _change_attributes(transaction, withdrawal)
        await _change_messages(transaction, withdrawal)
        await publish_checkpoint(transaction, barrier.id)
        await transaction.execute("learn/blocks/drop_trust", through=barrier.sequence)
        await transaction.execute("forget/progress/set_last_withdrawal", sequence=sequence)
        if withdrawal.erased is not None:
            await transaction.execute("forget/wiping/add_pending_client", ref=withdrawal.erased)
        await set_log_end(transaction, end)
        return WithdrawalResult(sequence=sequence, interactions=len(sequences))

    while await database.write(discard) >= ROWS_PER_COMMIT:
        pass
    for start in range(0, len(past), ROWS_PER_STATEMENT):
        rows = text_rows([(text, 0) for text in past[start : start + ROWS_PER_STATEMENT]])
        await _update_past_texts(database, lease, rows)
    return await database.write(work)


def _separate_past(withdrawal: Withdrawal) -> tuple[list[ClientText], list[ClientText]]:
    """Separate rewritten texts into past versions and current ones.

    Past versions are rewritten in commits of their own, before the one that counts, because a
    client may be cited in any number of them. If that one fails, nothing is withdrawn, and only
    past texts have lost some content.
    """
    follow = {(text.profile.ref, text.profile.version - 1) for text in withdrawal.texts}
    past: list[ClientText] = []
    current: list[ClientText] = []
    for text in withdrawal.rewritten:
        (current if (text.profile.ref, text.profile.version) in follow else past).append(text)
    return past, current


async def _update_past_texts(
    database: Neo4jDatabase, lease: Lease, rows: Sequence[list[object]]
) -> None:
    async def work(transaction: Transaction) -> None:
        await check_fence(transaction, lease)
        await transaction.execute("forget/withdrawal/update_texts", rows=rows)

    await database.write(work)


async def check_citations(transaction: Transaction, withdrawal: Withdrawal) -> None:
    """Check that no text committed since the search cites what goes, and block new ones.

    Raises:
        VersionClash: A newer text cites it.
    """
    await transaction.execute("reason/texts/lock_commit_numbers")
    ref = await transaction.value(
        "forget/search/cited_since",
        number=withdrawal.texts_read_through,
        sequences=[row.sequence for row in withdrawal.interactions],
        messages=[[message.router, message.version] for message in withdrawal.messages],
    )
    if ref is not None:
        raise VersionClash(ref)


async def _withdraw_interactions(transaction: Transaction, withdrawal: Withdrawal) -> list[int]:
    """Withdraw interactions and what hangs on them; return their sequences.

    An erasure also takes those of the client that were recorded since the search.
    """
    if withdrawal.erased is not None:
        row = await transaction.row("forget/search/events_of_client", ref=withdrawal.erased) or [
            [],
            [],
        ]
        await store_forgotten_events(
            transaction, sorted({*(event_id for _, event_id in row[0]), *row[1]})
        )
        await transaction.execute("forget/client/delete_retracted_events", ref=withdrawal.erased)
        sequences = sorted({sequence for sequence, _ in row[0]})
    else:
        rows = await transaction.rows(
            "forget/withdrawal/recorded_interactions",
            sequences=[row.sequence for row in withdrawal.interactions],
        )
        sequences = sorted({sequence for sequence, _ in rows})
        await transaction.execute("forget/withdrawal/create_retracted_events", sequences=sequences)
    learned = await mark_rows(transaction, sequences, withdrawal.promoted)
    for start in range(0, len(sequences), ROWS_PER_STATEMENT):
        await transaction.execute(
            "forget/withdrawal/create_gaps",
            rows=[
                [sequence, sequence in learned]
                for sequence in sequences[start : start + ROWS_PER_STATEMENT]
            ],
        )
    return sequences


async def _change_texts(
    transaction: Transaction,
    texts: Sequence[ClientText],
    current: Sequence[ClientText],
    sequence: int,
) -> None:
    """Rewrite current versions in place, and create the next ones."""
    for start in range(0, len(current), ROWS_PER_STATEMENT):
        some = current[start : start + ROWS_PER_STATEMENT]
        await transaction.execute(
            "forget/withdrawal/update_texts", rows=text_rows([(text, sequence) for text in some])
        )
    await enqueue_texts(transaction, texts)
    await create_texts(transaction, text_rows([(text, sequence) for text in texts]), ())


async def _erase_client(
    transaction: Transaction, ref: int, sent_under: Sequence[int], words: Sequence[str]
) -> None:
    await transaction.execute(
        "index/outbox/delete_changes_of_client",
        collection=COLLECTIONS[kind_of(ref)].value,
        keys=[orjson.dumps(ref).decode()],
    )
    await transaction.execute("forget/client/detach_texts", ref=ref)
    await transaction.execute("forget/client/delete_parts", ref=ref)
    keys = await transaction.rows("forget/client/messages_of_routers", routers=list(sent_under))
    if keys:
        await transaction.execute("forget/retention/delete_messages", keys=keys)
    await transaction.execute("forget/client/delete_routers", routers=list(sent_under))
    await transaction.execute("forget/client/delete_client", ref=ref)
    await transaction.execute("forget/client/clear_failures", words=list(words))


async def _change_attributes(transaction: Transaction, withdrawal: Withdrawal) -> None:
    """Change attributes of clients, holders, and everything that names a lost attribute."""
    if withdrawal.client_attributes:
        await transaction.execute(
            "forget/withdrawal/set_client_attributes",
            rows=[[ref, list(names)] for ref, names in withdrawal.client_attributes.items()],
        )
    if holders := remaining_holders(withdrawal):
        rows = [[name, count] for name, count in holders.items()]
        await transaction.execute("forget/withdrawal/update_holders", rows=rows)
    if gone := lost_attributes(withdrawal):
        await transaction.execute("forget/withdrawal/remove_unused_attributes", names=gone)
        await transaction.execute(
            "forget/client/delete_gradients",
            modules=[module.value for module in Module],
            words=gone,
        )
        await transaction.execute(
            "index/outbox/delete_changes_of_client",
            collection=Collection.ATTRIBUTES.value,
            keys=[orjson.dumps(name).decode() for name in gone],
        )
    if gone or withdrawal.unmapped:
        await transaction.execute(
            "forget/client/delete_attributes", gone=gone, unmapped=sorted(withdrawal.unmapped)
        )


async def _change_messages(transaction: Transaction, withdrawal: Withdrawal) -> None:
    rows = [
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
    ]
    if rows:
        await transaction.execute("forget/withdrawal/update_messages", rows=rows)
        await enqueue_messages(transaction, withdrawal.messages)
    if withdrawal.reduced_messages:
        await transaction.execute(
            "forget/withdrawal/update_senders",
            keys=[list(key) for key in withdrawal.reduced_messages],
            senders=SENDERS_KEPT,
        )
