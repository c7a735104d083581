"""Changes of clients, and events (RecordStore)."""

from collections.abc import Sequence

import orjson

from propagation.adapters.neo4j.connection.call_batcher import CallBatcher
from propagation.adapters.neo4j.connection.database import Neo4jDatabase, Transaction
from propagation.adapters.neo4j.record.clients import (
    clients_of,
    create_clients,
    ids_by_kind,
    refs_of,
    update_clients,
)
from propagation.adapters.neo4j.record.forgotten_events import find_forgotten
from propagation.adapters.neo4j.record.log import (
    LogEnd,
    Neo4jLog,
    append_entry,
    end_parameters,
    lock_log,
    log_end,
    set_log_end,
)
from propagation.adapters.neo4j.record.record_plan import RecordCall, Recording
from propagation.adapters.shared.json_text import without_nul
from propagation.model.clients.client import (
    Client,
    ClientChange,
    ClientKey,
    ClientKind,
    ClientOutcome,
)
from propagation.model.interactions.interaction import NewInteraction
from propagation.model.interactions.log import EntryKind
from propagation.ports.graph.record import RecordResult

EVENTS_A_COMMIT = 4_000


class Neo4jRecords(Neo4jLog):
    """Records events; concurrent callers share a commit, because commits cost more than events."""

    def __init__(self, database: Neo4jDatabase) -> None:
        super().__init__(database)
        self._calls = CallBatcher(self._record, lambda call: len(call.events), EVENTS_A_COMMIT)

    async def record(self, events: Sequence[NewInteraction], *, auto_create: bool) -> RecordResult:
        without_nul(
            orjson.dumps(
                [
                    (
                        event.event_id,
                        event.user_id,
                        event.item_id,
                        event.negative_id,
                        dict(event.metadata),
                    )
                    for event in events
                ]
            )
        )
        return await self._calls.submit(RecordCall(events, auto_create))

    async def _record(self, calls: Sequence[RecordCall]) -> Sequence[RecordResult]:
        events = [event for call in calls for event in call.events]
        ids = ids_by_kind(key for event in events for key in _clients_named(event))

        async def work(transaction: Transaction) -> Sequence[RecordResult]:
            row = await transaction.single_row(
                "record/events/lock_log_and_look_up",
                now=self._database.now(),
                events=[event.event_id for event in events],
                **ids,
            )
            end = log_end(row)
            known, *clients, key = row[4:]
            recording = Recording(
                end,
                {id_: (hash_, sequence) for id_, hash_, sequence in known},
                refs_of(*clients),
                await find_forgotten(transaction, key, [event.event_id for event in events]),
            )
            for call in calls:
                recording.take(call)
            if recording.created:
                entry = await append_entry(
                    transaction,
                    end,
                    EntryKind.CLIENTS,
                    [client.ref for client in recording.created],
                )
                await create_clients(transaction, recording.created, entry)
            first = end.take_sequences(len(recording.accepted))
            if recording.accepted:
                await _insert(transaction, recording.rows(first), end)
            return recording.answers(calls, first)

        return await self._database.write(work)

    async def upsert_clients(self, changes: Sequence[ClientChange]) -> Sequence[ClientOutcome]:
        without_nul(orjson.dumps([change.model_dump() for change in changes]))

        async def work(transaction: Transaction) -> Sequence[ClientOutcome]:
            end = await lock_log(transaction)
            row = await transaction.row(
                "record/clients/client_refs", **ids_by_kind(change.key for change in changes)
            )
            refs = refs_of(*(row or ([], [])))
            clients = await clients_of(transaction, refs.values())
            before = dict(clients)
            touched: dict[int, None] = {}
            facts: list[tuple[int, bool, bool]] = []
            for change in changes:
                key = (int(change.key.kind), change.key.id)
                created = key not in refs
                if created:
                    refs[key] = end.take_ref(change.key.kind)
                    clients[refs[key]] = Client(ref=refs[key], key=change.key)
                ref = refs[key]
                after = change.apply_to(clients[ref])
                changed = created or after != clients[ref]
                clients[ref] = after
                if changed:
                    touched[ref] = None
                facts.append((ref, created, changed))
            sequence = 0
            if touched:
                sequence = await append_entry(transaction, end, EntryKind.CLIENTS, list(touched))
                await create_clients(
                    transaction, [clients[ref] for ref in touched if ref not in before], sequence
                )
                await update_clients(
                    transaction, [clients[ref] for ref in touched if ref in before], sequence
                )
                await set_log_end(transaction, end)
            return [
                ClientOutcome(
                    ref=ref,
                    created=created,
                    changed=changed,
                    sequence=sequence if ref in touched else before[ref].sequence,
                )
                for ref, created, changed in facts
            ]

        return await self._database.write(work)


def _clients_named(event: NewInteraction) -> list[ClientKey]:
    named = (
        (ClientKind.USER, event.user_id),
        (ClientKind.ITEM, event.item_id),
        (ClientKind.ITEM, event.negative_id),
    )
    return [ClientKey(kind=kind, id=id_) for kind, id_ in named if id_ is not None]


async def _insert(transaction: Transaction, rows: Sequence[list[object]], end: LogEnd) -> None:
    await transaction.execute("record/events/create_interactions", rows=rows, **end_parameters(end))
    named = [[row[0], row[5]] for row in rows if row[5] is not None]
    if named:
        await transaction.execute("record/events/link_negatives", rows=named)
