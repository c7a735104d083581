"""RecordStore on SQLite."""

import sqlite3
from collections.abc import Sequence

import numpy as np
import orjson
from numpy.typing import NDArray

from propagation.adapters.shared.record_outcomes import FORGOTTEN, placed, repeated
from propagation.adapters.sqlite.connection.client_ids import (
    Directory,
    recorded_through,
    sequence_at,
)
from propagation.adapters.sqlite.connection.database import Database
from propagation.adapters.sqlite.connection.json_rows import dumped, fields, many
from propagation.adapters.sqlite.record.clients import clients_of, put_clients
from propagation.adapters.sqlite.record.forgotten_events import forgotten_among
from propagation.model.clients.client import (
    Client,
    ClientChange,
    ClientKey,
    ClientKind,
    ClientOutcome,
)
from propagation.model.interactions.interaction import NewInteraction, RecordOutcome, RecordStatus
from propagation.model.interactions.log import EntryKind, Interactions, LogEntry, LogSlice
from propagation.ports.graph.record import RecordResult

USER, ITEM = int(ClientKind.USER), int(ClientKind.ITEM)
# Rows in the order of their sequences, which are counted from the first.
INSERT = (
    "INSERT INTO interaction (sequence, event_id, content_hash, user, item, negative, time, weight, seed, metadata, at)"
    f" SELECT ?1 + key, {fields(9)}, ?2 FROM json_each(?3)"
)


class SqliteRecords:
    """The record commit and the log."""

    def __init__(self, database: Database, directory: Directory) -> None:
        self._database = database
        self._directory = directory

    async def upsert_clients(self, changes: Sequence[ClientChange]) -> Sequence[ClientOutcome]:
        return await self._database.write(lambda connection: self._upsert(connection, changes))

    def _upsert(
        self, connection: sqlite3.Connection, changes: Sequence[ClientChange]
    ) -> Sequence[ClientOutcome]:
        known = [self._directory.ref_now(change.key.kind, change.key.id) for change in changes]
        clients = {
            client.ref: client
            for client in clients_of(connection, [ref for ref in known if ref is not None])
        }
        before = {ref: client.sequence for ref, client in clients.items()}
        touched: dict[int, None] = {}
        facts: list[tuple[int, bool, bool]] = []
        for change in changes:
            ref = self._directory.ref_now(change.key.kind, change.key.id)
            created = ref is None
            if ref is None:
                ref = self._directory.add(change.key.kind, change.key.id)
                clients[ref] = Client(ref=ref, key=change.key)
            after = change.apply_to(clients[ref])
            changed = created or after != clients[ref]
            clients[ref] = after
            if changed:
                touched[ref] = None
            facts.append((ref, created, changed))
        sequence = (
            append_entry(connection, self._directory, EntryKind.CLIENTS, list(touched))
            if touched
            else 0
        )
        put_clients(connection, [clients[ref] for ref in touched], sequence)
        return [
            ClientOutcome(
                ref=ref,
                created=created,
                changed=changed,
                sequence=sequence if ref in touched else before[ref],
            )
            for ref, created, changed in facts
        ]

    async def record(self, events: Sequence[NewInteraction], *, auto_create: bool) -> RecordResult:
        seeds = [
            signed(event.seed) for event in events
        ]  # here: the writer's time is what limits how much is recorded
        asked = dumped([(event.event_id, seed) for event, seed in zip(events, seeds, strict=True)])
        return await self._database.write(
            lambda connection: self._record(connection, events, seeds, asked, auto_create)
        )

    def _record(
        self,
        connection: sqlite3.Connection,
        events: Sequence[NewInteraction],
        seeds: Sequence[int],
        asked: str,
        auto_create: bool,
    ) -> RecordResult:
        seen = _seen_before(connection, asked)
        forgotten = forgotten_among(connection, [event.event_id for event in events])
        created: list[Client] = []
        rows: list[Sequence[object]] = []
        outcomes: list[RecordOutcome | None] = []
        for event, seed in zip(events, seeds, strict=True):
            outcome = (
                FORGOTTEN
                if event.event_id in forgotten
                else repeated(seen.get(event.event_id), event)
            )
            if outcome is None and not auto_create:
                outcome = self._unknown(event)
            outcomes.append(outcome)
            if outcome is None:
                seen[event.event_id] = (event.content_hash, -len(rows) - 1)
                rows.append(
                    (
                        event.event_id,
                        event.content_hash,
                        self._ref(ClientKind.USER, event.user_id, created),
                        self._ref(ClientKind.ITEM, event.item_id, created),
                        None
                        if event.negative_id is None
                        else self._ref(ClientKind.ITEM, event.negative_id, created),
                        event.time,
                        event.weight,
                        seed,
                        dumped(dict(event.metadata)) if event.metadata else None,
                    )
                )
        if created:
            put_clients(
                connection,
                created,
                append_entry(
                    connection,
                    self._directory,
                    EntryKind.CLIENTS,
                    [client.ref for client in created],
                ),
            )
        first = self._directory.take_sequences(len(rows))
        if rows:
            connection.execute(INSERT, (first, self._directory.now(), dumped(rows)))
        return RecordResult(
            outcomes=placed(outcomes, first),
            created={(int(client.key.kind), client.key.id): client.ref for client in created},
        )

    def _ref(self, kind: ClientKind, id_: str, created: list[Client]) -> int:
        """The client's, which is created where it is not known."""
        ref = self._directory.ref_now(kind, id_)
        if ref is None:
            ref = self._directory.add(kind, id_)
            created.append(Client(ref=ref, key=ClientKey(kind=kind, id=id_)))
        return ref

    def _unknown(self, event: NewInteraction) -> RecordOutcome | None:
        if self._directory.ref_now(USER, event.user_id) is None:
            return RecordOutcome(status=RecordStatus.UNKNOWN_USER)
        if self._directory.ref_now(ITEM, event.item_id) is None:
            return RecordOutcome(status=RecordStatus.UNKNOWN_ITEM)
        if (
            event.negative_id is not None
            and self._directory.ref_now(ITEM, event.negative_id) is None
        ):
            return RecordOutcome(status=RecordStatus.UNKNOWN_NEGATIVE)
        return None

    async def read_log(self, after: int, limit: int) -> LogSlice:
        return await self._database.read(lambda connection: _read_log(connection, after, limit))

    async def read_entries(self, after: int, through: int) -> Sequence[LogEntry]:
        return await self._database.read(lambda connection: _entries(connection, after, through))

    async def recorded_through(self) -> int:
        return await self._database.read(recorded_through, 1)

    async def sequence_at(self, time_ms: int) -> int:
        return await self._database.read(lambda connection: sequence_at(connection, time_ms))


def append_entry(
    connection: sqlite3.Connection,
    directory: Directory,
    kind: EntryKind,
    refs: Sequence[int] = (),
    number: int = 0,
) -> int:
    """One log entry that is no interaction, inside a transaction of this store; its sequence."""
    sequence = directory.take_sequences(1)
    connection.execute(
        "INSERT INTO log VALUES (?, ?, ?, ?, ?)",
        (sequence, kind, dumped(refs), number, directory.now()),
    )
    return sequence


def _seen_before(connection: sqlite3.Connection, asked: str) -> dict[str, tuple[str, int]]:
    """(content hash, sequence) of those event ids that are recorded, retracted ones too. `asked`:
    JSON of [event id, seed]."""
    return {
        event_id: (content_hash, sequence)
        for table in ("interaction", "retracted")
        for event_id, content_hash, sequence in many(
            connection,
            "SELECT json_group_array(json_array(i.event_id, i.content_hash, i.sequence)) FROM json_each(?) e"
            f" CROSS JOIN {table} i ON i.seed = e.value->>1 AND i.event_id = e.value->>0",
            asked,
        )
    }


def signed(value: int) -> int:
    """64 bits as SQLite's integer."""
    return value - (1 << 64) if value >> 63 else value


def _entries(connection: sqlite3.Connection, after: int, through: int) -> list[LogEntry]:
    return [
        LogEntry(
            sequence=row[0],
            kind=EntryKind(row[1]),
            refs=tuple(orjson.loads(row[2])),
            number=row[3],
            time=row[4],
        )
        for row in connection.execute(
            "SELECT * FROM log WHERE sequence > ? AND sequence <= ? ORDER BY sequence",
            (after, through),
        )
    ]


def _read_log(connection: sqlite3.Connection, after: int, limit: int) -> LogSlice:
    through = min(after + limit, recorded_through(connection))
    columns = many(
        connection,
        "SELECT json_array(json_group_array(sequence), json_group_array(user >> 1),"
        " json_group_array(item >> 1), json_group_array(coalesce(negative >> 1, -1)),"
        " json_group_array(seed), json_group_array(at / 86400000)) FROM"
        " (SELECT * FROM interaction WHERE sequence > ? AND sequence <= ? ORDER BY sequence)",
        after,
        through,
    )
    sequence, user, item, negative, seed, day = (np.array(column, np.int64) for column in columns)
    entries = _entries(connection, after, through)
    return LogSlice(
        interactions=Interactions(
            sequence=sequence,
            user=user,
            item=item,
            negative=negative,
            weight=_weights(connection, sequence),
            seed=seed.view(np.uint64),
            day=day,
        ),
        entries=tuple(entries),
        through=max(through, after),
    )


def _weights(connection: sqlite3.Connection, sequence: NDArray[np.int64]) -> NDArray[np.float64]:
    """Weights as they are stored: JSON would keep 15 digits. Nearly all are 1."""
    weights = np.ones(len(sequence))
    if len(sequence):
        rows = connection.execute(
            "SELECT sequence, weight FROM interaction WHERE sequence BETWEEN ? AND ? AND weight <> 1",
            (int(sequence[0]), int(sequence[-1])),
        ).fetchall()
        for number, weight in rows:
            weights[np.searchsorted(sequence, number)] = weight
    return weights
