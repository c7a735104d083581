"""The one commit of a retraction or an erasure. Nodes are held in the order of every other commit: lease, log, clients, claims."""

from collections.abc import Sequence

import orjson

from propagation.adapters.neo4j.checkpoints import completed
from propagation.adapters.neo4j.database import Neo4jDatabase, Transaction
from propagation.adapters.neo4j.forgotten import forget_events
from propagation.adapters.neo4j.learned_rows import mark_rows
from propagation.adapters.neo4j.leases import check_fence
from propagation.adapters.neo4j.log import advance, append_entry, hold_log
from propagation.adapters.neo4j.messages import SENDERS_KEPT
from propagation.adapters.neo4j.outbox import COLLECTIONS, put_messages_out, put_texts_out
from propagation.adapters.neo4j.rounds import ROWS_A_COMMIT, discard_unpublished
from propagation.adapters.neo4j.texts import hold_clients, put_texts, rows_of
from propagation.adapters.neo4j.time import Time
from propagation.model.client import kind_of
from propagation.model.gradient import Module
from propagation.model.learned import Staged
from propagation.model.withdrawal import TakenBack, Withdrawal
from propagation.ports.leases import Lease
from propagation.ports.vector_index import Collection

OF_CLIENTS = [Module.PROFILE.value, Module.FILTER_MEMORY.value]
ROWS_A_STATEMENT = 2_000


async def take_back(database: Neo4jDatabase, time: Time, lease: Lease, withdrawal: Withdrawal,
                    barrier: Staged) -> TakenBack:
    """Whatever is taken back, in one transaction."""
    async def discard(transaction: Transaction) -> int:
        await check_fence(transaction, lease)
        return await discard_unpublished(transaction)

    async def work(transaction: Transaction) -> TakenBack:
        await check_fence(transaction, lease)
        end = await hold_log(transaction, time)
        await hold_clients(transaction, withdrawal.texts)
        while await discard_unpublished(transaction):
            pass
        await transaction.do("learn/discard_staged")
        sequences = await _interactions_go(transaction, withdrawal)
        sequence = await append_entry(transaction, end, withdrawal.kind, withdrawal.refs, barrier.sequence)
        await _texts_change(transaction, time.now(), withdrawal, sequence)
        if withdrawal.erased is not None:
            await _client_goes(transaction, withdrawal.erased, withdrawal.sent_under, withdrawal.words)
        elif withdrawal.parts:
            await transaction.do("erasure/drop_parts_of", keys=[list(key) for key in withdrawal.parts], sequences=sequences)
        await _attributes_change(transaction, withdrawal)
        await _messages_change(transaction, time.now(), withdrawal)
        await completed(transaction, barrier.id)
        await transaction.do("learn/covers", through=barrier.sequence)
        if withdrawal.erased is not None:
            await transaction.do("erasure/due")
        await advance(transaction, end)
        await transaction.do("evolution/void_claims")
        return TakenBack(sequence=sequence, interactions=len(sequences))

    while await database.write(discard) >= ROWS_A_COMMIT:
        pass
    return await database.write(work)


async def _interactions_go(transaction: Transaction, withdrawal: Withdrawal) -> list[int]:
    """With what hangs on them; their sequences. An erasure takes what was recorded of the client meanwhile, too."""
    if withdrawal.erased is not None:
        row = await transaction.row("erasure/recorded_of", ref=withdrawal.erased) or [[], []]
        await forget_events(transaction, sorted({*(event_id for _, event_id in row[0]), *row[1]}))
        await transaction.do("erasure/drop_retracted", ref=withdrawal.erased)
        sequences = sorted({sequence for sequence, _ in row[0]})
    else:
        rows = await transaction.rows("erasure/recorded", sequences=[row.sequence for row in withdrawal.interactions])
        sequences = sorted({sequence for sequence, _ in rows})
        await transaction.do("erasure/retract", sequences=sequences)
    learned = await mark_rows(transaction, sequences, withdrawal.promoted)
    for start in range(0, len(sequences), ROWS_A_STATEMENT):
        await transaction.do("erasure/drop_interactions", rows=[
            [sequence, sequence in learned] for sequence in sequences[start : start + ROWS_A_STATEMENT]])
    return sequences


async def _texts_change(transaction: Transaction, now: int | None, withdrawal: Withdrawal, sequence: int) -> None:
    """Stored versions in place, and next ones."""
    for start in range(0, len(withdrawal.rewritten), ROWS_A_STATEMENT):
        some = withdrawal.rewritten[start : start + ROWS_A_STATEMENT]
        await transaction.do("erasure/rewrite", rows=rows_of([(text, sequence) for text in some]))
    await put_texts_out(transaction, withdrawal.texts, now)
    await put_texts(transaction, now, rows_of([(text, sequence) for text in withdrawal.texts]), ())


async def _client_goes(transaction: Transaction, ref: int, sent_under: Sequence[int], words: Sequence[str]) -> None:
    await transaction.do("outbox/drop_of", collection=COLLECTIONS[kind_of(ref)].value, keys=[orjson.dumps(ref).decode()])
    await transaction.do("erasure/drop_texts", ref=ref)
    await transaction.do("erasure/drop_parts", ref=ref)
    await transaction.do("erasure/drop_modules", ref=ref, modules=OF_CLIENTS)
    keys = await transaction.rows("erasure/messages_of", routers=list(sent_under))
    if keys:
        await transaction.do("retention/drop_messages", keys=keys)
    await transaction.do("erasure/drop_routers", routers=list(sent_under))
    await transaction.do("erasure/drop_client", ref=ref)
    await transaction.do("erasure/unsay", words=list(words))


async def _attributes_change(transaction: Transaction, withdrawal: Withdrawal) -> None:
    """What clients hold and how many hold what; what is gone leaves messages, mappings and what was said, too."""
    if withdrawal.held:
        await transaction.do("erasure/hold_attributes", rows=[[ref, list(names)] for ref, names in withdrawal.held.items()])
    if counted := [[name, holders] for name, holders in withdrawal.holders.items() if holders > 0]:
        await transaction.do("erasure/recount", rows=counted)
    gone = sorted(name for name, holders in withdrawal.holders.items() if holders <= 0)
    if gone:
        await transaction.do("erasure/unhold", names=gone)
        await transaction.do("erasure/drop_gradients", modules=[module.value for module in Module], words=gone)
        await transaction.do("outbox/drop_of", collection=Collection.ATTRIBUTES.value,
                             keys=[orjson.dumps(name).decode() for name in gone])
    if gone or withdrawal.unmapped:
        await transaction.do("erasure/drop_attributes", gone=gone, unmapped=sorted(withdrawal.unmapped))


async def _messages_change(transaction: Transaction, now: int | None, withdrawal: Withdrawal) -> None:
    rows = [[message.router, message.version, message.name, message.text, list(message.attributes),
             [name for name, _ in message.standing], [float(weight) for _, weight in message.standing]]
            for message in withdrawal.messages]
    if rows:
        await transaction.do("erasure/change_messages", rows=rows)
        await put_messages_out(transaction, withdrawal.messages, now)
    if withdrawal.parts:
        await transaction.do("erasure/count_senders", keys=[list(key) for key in withdrawal.parts], senders=SENDERS_KEPT)
