"""Records changes of clients, and events (RecordStore).

The ids of forgotten events are kept as keyed hashes, in hexadecimal digits.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import orjson

from propagation.adapters.neo4j.connection import Neo4jDatabase, Transaction
from propagation.adapters.neo4j.record.clients import (
    Refs,
    create_clients,
    group_ids_by_kind,
    list_refs,
    read_clients,
    update_clients,
)
from propagation.adapters.neo4j.record.log import (
    Neo4jLog,
    append_entry,
    build_end_parameters,
    build_log_end,
    lock_log,
    set_log_end,
)
from propagation.adapters.shared.erasure import compute_event_hash, create_key
from propagation.adapters.shared.json_text import remove_nul
from propagation.call_batcher import CallBatcher
from propagation.graph_rules import (
    EventDecisions,
    RecordedEvent,
    list_clients_of_event,
    list_keys_to_create,
    merge_changes,
)
from propagation.model import (
    Client,
    ClientChange,
    ClientKey,
    ClientKind,
    ClientOutcome,
    EntryKind,
    NewInteraction,
    StoreUnreachable,
    derive_seed,
)
from propagation.ports import RecordResult

EVENTS_PER_COMMIT = 4_000


@dataclass(frozen=True)
class RecordCall:
    """The events of one caller, recorded together or not at all."""

    events: Sequence[NewInteraction]
    auto_create: bool


class Neo4jRecords(Neo4jLog):
    """Records events; concurrent callers share a commit.

    A commit costs more than the events in it.
    """

    def __init__(self, database: Neo4jDatabase) -> None:
        super().__init__(database)
        self._calls: CallBatcher[RecordCall, RecordResult] = CallBatcher(
            lambda calls: database.write(lambda transaction: _record_calls(transaction, calls)),
            lambda call: len(call.events),
            EVENTS_PER_COMMIT,
            (StoreUnreachable,),
        )

    async def record(self, events: Sequence[NewInteraction], *, auto_create: bool) -> RecordResult:
        texts = [
            (event.event_id, event.user_id, event.item_id, event.negative_id, dict(event.metadata))
            for event in events
        ]
        remove_nul(orjson.dumps(texts))
        return await self._calls.submit(RecordCall(events, auto_create))

    async def upsert_clients(self, changes: Sequence[ClientChange]) -> Sequence[ClientOutcome]:
        remove_nul(orjson.dumps([change.model_dump() for change in changes]))

        async def work(transaction: Transaction) -> Sequence[ClientOutcome]:
            end = await lock_log(transaction)
            refs = list_refs(
                *await transaction.read_single_row(
                    "record/clients/client_refs",
                    **group_ids_by_kind((change.key.kind, change.key.id) for change in changes),
                )
            )
            clients = await read_clients(transaction, refs.values())
            known = {client.key: client for client in clients.values()}
            created = {key: end.take_ref(key.kind) for key in list_keys_to_create(changes, known)}
            upsert = merge_changes(changes, known, created)
            if not upsert.changed:
                return upsert.outcomes(0)
            sequence = await append_entry(
                transaction, end, EntryKind.CLIENTS, [client.ref for client in upsert.changed]
            )
            new = [client for client in upsert.changed if client.key in created]
            old = [client for client in upsert.changed if client.key not in created]
            await create_clients(transaction, new, sequence)
            await update_clients(transaction, old, sequence)
            await set_log_end(transaction, end)
            return upsert.outcomes(sequence)

        return await self._database.write(work)


async def _record_calls(
    transaction: Transaction, calls: Sequence[RecordCall]
) -> Sequence[RecordResult]:
    """Record the events of several calls in one transaction."""
    events = [event for call in calls for event in call.events]
    ids = [event.event_id for event in events]
    row = await transaction.read_single_row(
        "record/events/lock_log_and_look_up",
        now=transaction.now(),
        events=ids,
        **group_ids_by_kind(client for event in events for client in list_clients_of_event(event)),
    )
    end = build_log_end(row)
    recorded, *clients, key = row[4:]
    refs = list_refs(*clients)
    decisions = EventDecisions(
        {id_: RecordedEvent(hash_, sequence) for id_, hash_, sequence in recorded},
        await find_forgotten(transaction, key, ids),
        {id_ for kind, id_ in refs if kind == ClientKind.USER},
        {id_ for kind, id_ in refs if kind == ClientKind.ITEM},
    )
    created: list[Mapping[tuple[int, str], int]] = []
    for call in calls:
        for event in call.events:
            decisions.decide(event, auto_create=call.auto_create)
        new = {
            client: end.take_ref(client[0]) for client in decisions.created if client not in refs
        }
        refs |= new
        created.append({(int(kind), id_): ref for (kind, id_), ref in new.items()})
    if decisions.created:
        new_clients = [
            Client(
                ref=refs[client],
                key=ClientKey(kind=client[0], id=client[1]),
                only_in_events=True,
            )
            for client in decisions.created
        ]
        entry = await append_entry(
            transaction, end, EntryKind.CLIENTS, [client.ref for client in new_clients]
        )
        await create_clients(transaction, new_clients, entry)
    first = end.take_sequences(len(decisions.accepted))
    if decisions.accepted:
        rows = [
            _build_interaction_row(event, first + place, refs)
            for place, event in enumerate(decisions.accepted)
        ]
        await transaction.execute(
            "record/events/create_interactions", rows=rows, **build_end_parameters(end)
        )
        negatives = [[row[0], row[5]] for row in rows if row[5] is not None]
        if negatives:
            await transaction.execute("record/events/link_negatives", rows=negatives)
    outcomes = iter(decisions.outcomes(first))
    return [
        RecordResult([next(outcomes) for _ in call.events], new)
        for call, new in zip(calls, created, strict=True)
    ]


def _build_interaction_row(event: NewInteraction, sequence: int, refs: Refs) -> list[object]:
    """Convert an event to a row of cypher/record/events/create_interactions."""
    return [
        sequence,
        event.event_id,
        event.content_hash,
        refs[ClientKind.USER, event.user_id],
        refs[ClientKind.ITEM, event.item_id],
        None if event.negative_id is None else refs[ClientKind.ITEM, event.negative_id],
        event.time,
        event.weight,
        derive_seed(event.event_id),
        orjson.dumps(dict(event.metadata)).decode() if event.metadata else None,
    ]


async def store_forgotten_events(transaction: Transaction, event_ids: Sequence[str]) -> None:
    """Store hashes of event ids; the first call creates the key."""
    key = bytes.fromhex(
        await transaction.value("record/events/create_hash_key", key=create_key().hex())
    )
    await transaction.execute(
        "record/events/store_forgotten_hashes",
        hashes=[compute_event_hash(key, event_id).hex() for event_id in event_ids],
    )


async def find_forgotten(
    transaction: Transaction, key: str | None, event_ids: Sequence[str]
) -> frozenset[str]:
    """Find which of these event ids are forgotten.

    Args:
        key: The key of the hashes, in hexadecimal digits; None if no event was ever forgotten.
    """
    if key is None:
        return frozenset()
    hashes = {
        compute_event_hash(bytes.fromhex(key), event_id).hex(): event_id for event_id in event_ids
    }
    return frozenset(
        hashes[row[0]]
        for row in await transaction.rows(
            "record/events/find_forgotten_hashes", hashes=list(hashes)
        )
    )
