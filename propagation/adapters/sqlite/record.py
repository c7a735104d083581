"""RecordStore, ClientStore on SQLite."""

import sqlite3
from collections.abc import Sequence

import numpy as np
import orjson

from propagation.adapters.sqlite.database import Database
from propagation.adapters.sqlite.rows import dumped, many, one
from propagation.model.client import Client, ClientChange, ClientKey, ClientKind, ClientOutcome, ref_of
from propagation.model.interaction import NewInteraction, RecordOutcome, RecordStatus
from propagation.model.log import EntryKind, Interactions, LogEntry, LogSlice
from propagation.ports.clock import Clock
from propagation.ports.record import Recorded

CLIENT_COLUMNS = "ref, kind, id, title, description, attributes, categories, hidden, metadata, sequence"
CLIENT_READ = ", ".join(f"client.{name}" for name in CLIENT_COLUMNS.split(", "))


class Directory:
    """Ids to refs, all of them, in memory; what a failed transaction added is taken back (database.Memory)."""

    def __init__(self) -> None:
        self.refs: dict[tuple[int, str], int] = {}
        self.counts = [0, 0]
        self._added: list[tuple[int, str]] = []

    def mark(self) -> int:
        return len(self._added)

    def undo(self, mark: int) -> None:
        while len(self._added) > mark:
            kind, id_ = self._added.pop()
            del self.refs[kind, id_]
            self.counts[kind] -= 1

    def load(self, connection: sqlite3.Connection) -> None:
        for ref, kind, id_ in connection.execute("SELECT ref, kind, id FROM client"):
            self.refs[kind, id_] = ref
        for kind in ClientKind:
            last = one(connection, "SELECT max(ref) FROM client WHERE ref & 1 = ?", int(kind))
            self.counts[kind] = 0 if last is None else (last >> 1) + 1

    def add(self, kind: ClientKind, id_: str) -> int:
        ref = ref_of(kind, self.counts[kind])
        self.counts[kind] += 1
        self.refs[int(kind), id_] = ref
        self._added.append((int(kind), id_))
        return ref


class SqliteRecords:
    """The record commit and the clients."""

    def __init__(self, database: Database, directory: Directory, clock: Clock) -> None:
        self._database = database
        self._clock = clock
        self._directory = directory
        self._sequence = 0
        self._committed_at = 0

    def load(self, connection: sqlite3.Connection) -> None:
        self._directory.load(connection)
        self._sequence = one(connection, "SELECT max(coalesce((SELECT max(sequence) FROM interaction), 0),"
                                         " coalesce((SELECT max(sequence) FROM log), 0))")
        self._committed_at = one(connection, "SELECT coalesce(max(at), 0) FROM log") or 0

    def now(self) -> int:
        """The commit time: never earlier than the last one, whatever the clock does."""
        self._committed_at = max(self._clock.now_ms(), self._committed_at)
        return self._committed_at

    def next_sequence(self) -> int:
        self._sequence += 1
        return self._sequence

    async def upsert_clients(self, changes: Sequence[ClientChange]) -> Sequence[ClientOutcome]:
        return await self._database.write(lambda connection: self._upsert(connection, changes))

    def _upsert(self, connection: sqlite3.Connection, changes: Sequence[ClientChange]) -> Sequence[ClientOutcome]:
        known = [self._directory.refs.get((int(change.key.kind), change.key.id)) for change in changes]
        clients = {client.ref: client for client in clients_of(connection, [ref for ref in known if ref is not None])}
        touched: dict[int, Client] = {}
        facts: list[tuple[int, bool, bool]] = []
        for change in changes:
            ref = self._directory.refs.get((int(change.key.kind), change.key.id))
            created = ref is None
            if ref is None:
                ref = self._directory.add(change.key.kind, change.key.id)
            before = touched.get(ref) or clients.get(ref) or Client(ref=ref, key=change.key)
            after = change.applied_to(before)
            changed = created or after != before
            if changed:
                touched[ref] = after
            facts.append((ref, created, changed))
        sequence = self._log(connection, EntryKind.CLIENTS, list(touched)) if touched else 0
        put_clients(connection, [client.model_copy(update={"sequence": sequence}) for client in touched.values()])
        return [ClientOutcome(ref=ref, created=created, changed=changed,
                              sequence=sequence if ref in touched else clients[ref].sequence)
                for ref, created, changed in facts]

    def _log(self, connection: sqlite3.Connection, kind: EntryKind, refs: Sequence[int], number: int = 0) -> int:
        sequence = self.next_sequence()
        connection.execute("INSERT INTO log VALUES (?, ?, ?, ?, ?)", (sequence, kind, dumped(refs), number, self.now()))
        return sequence

    async def append(self, kind: EntryKind, refs: Sequence[int], number: int) -> int:
        return await self._database.write(lambda connection: self._log(connection, kind, refs, number))

    def append_now(self, connection: sqlite3.Connection, kind: EntryKind, number: int) -> int:
        """One entry inside a transaction of this store."""
        return self._log(connection, kind, (), number)

    async def record(self, events: Sequence[NewInteraction], *, auto_create: bool) -> Recorded:
        return await self._database.write(lambda connection: self._record(connection, events, auto_create))

    def _record(self, connection: sqlite3.Connection, events: Sequence[NewInteraction], auto_create: bool) -> Recorded:
        added: list[tuple[int, str]] = []
        seen: dict[str, tuple[str, int]] = {
            event_id: (content_hash, sequence)
            for event_id, content_hash, sequence in many(
                connection, "SELECT json_group_array(json_array(i.event_id, i.content_hash, i.sequence))"
                            " FROM json_each(?) e CROSS JOIN interaction i ON i.event_id = e.value",
                dumped([event.event_id for event in events]))}
        refs = self._directory.refs
        accepted: list[NewInteraction] = []
        outcomes: list[RecordOutcome | None] = []
        for event in events:
            first = seen.get(event.event_id)
            if first is not None:
                outcomes.append(_repeated(first, event))
                continue
            unknown = None if auto_create else _unknown(event, refs)
            if unknown is not None:
                outcomes.append(RecordOutcome(status=unknown))
                continue
            for kind, id_ in ((0, event.user_id), (1, event.item_id), (1, event.negative_id)):
                if id_ is not None and (kind, id_) not in refs:
                    self._directory.add(ClientKind(kind), id_)
                    added.append((kind, id_))
            seen[event.event_id] = (event.content_hash, -len(accepted) - 1)
            accepted.append(event)
            outcomes.append(None)
        if added:
            created = [Client(ref=refs[kind, id_], key=ClientKey(kind=ClientKind(kind), id=id_)) for kind, id_ in added]
            entry = self._log(connection, EntryKind.CLIENTS, [client.ref for client in created])
            put_clients(connection, [client.model_copy(update={"sequence": entry}) for client in created])
        first_sequence = self._sequence + 1
        self._sequence += len(accepted)
        self._insert(connection, accepted, first_sequence)
        places = iter(range(first_sequence, first_sequence + len(accepted)))
        return Recorded(
            outcomes=[_placed(outcome, first_sequence) if outcome is not None
                      else RecordOutcome.model_construct(status=RecordStatus.ACCEPTED, sequence=next(places))
                      for outcome in outcomes],
            created={key: refs[key] for key in added})

    def _insert(self, connection: sqlite3.Connection, events: Sequence[NewInteraction], first: int) -> None:
        if not events:
            return
        refs = self._directory.refs
        rows = [(first + place, event.event_id, event.content_hash, refs[0, event.user_id], refs[1, event.item_id],
                 None if event.negative_id is None else refs[1, event.negative_id], event.time, event.weight,
                 _signed(event.seed), dumped(dict(event.metadata)) if event.metadata else None)
                for place, event in enumerate(events)]
        connection.execute(
            "INSERT INTO interaction (sequence, event_id, content_hash, user, item, negative, time, weight, seed, metadata, at)"
            " SELECT value->>0, value->>1, value->>2, value->>3, value->>4, value->>5, value->>6, value->>7, value->>8,"
            " value->>9, ? FROM json_each(?)", (self.now(), dumped(rows)))

    async def read_log(self, after: int, limit: int) -> LogSlice:
        return await self._database.read(lambda connection: _read_log(connection, after, limit))

    async def recorded_through(self) -> int:
        return await self._database.read(_recorded_through)

    async def find_refs(self, keys: Sequence[ClientKey]) -> Sequence[int | None]:
        return [self._directory.refs.get((int(key.kind), key.id)) for key in keys]

    async def get_clients(self, refs: Sequence[int]) -> Sequence[Client]:
        return await self._database.read(lambda connection: clients_of(connection, refs))

    async def scan_clients(self, kind: ClientKind, after_ref: int, limit: int) -> Sequence[Client]:
        def work(connection: sqlite3.Connection) -> Sequence[Client]:
            rows = connection.execute(f"SELECT {CLIENT_COLUMNS} FROM client WHERE ref > ? AND kind = ? ORDER BY ref LIMIT ?",
                                      (after_ref, int(kind), limit))
            return [_client(row) for row in rows]

        return await self._database.read(work)

    async def count_clients(self, kind: ClientKind) -> int:
        return self._directory.counts[kind]


def _signed(value: int) -> int:
    return value - (1 << 64) if value >> 63 else value


def _repeated(first: tuple[str, int], event: NewInteraction) -> RecordOutcome:
    same = first[0] == event.content_hash
    return RecordOutcome(status=RecordStatus.DUPLICATE if same else RecordStatus.CONFLICT, sequence=first[1] if same else 0)


def _placed(outcome: RecordOutcome, first_sequence: int) -> RecordOutcome:
    """A repeat inside one call knows its first one by its negative place only."""
    if outcome.sequence >= 0:
        return outcome
    return outcome.model_copy(update={"sequence": first_sequence - outcome.sequence - 1})


def _unknown(event: NewInteraction, refs: dict[tuple[int, str], int]) -> RecordStatus | None:
    if (0, event.user_id) not in refs:
        return RecordStatus.UNKNOWN_USER
    if (1, event.item_id) not in refs:
        return RecordStatus.UNKNOWN_ITEM
    if event.negative_id is not None and (1, event.negative_id) not in refs:
        return RecordStatus.UNKNOWN_NEGATIVE
    return None


def _recorded_through(connection: sqlite3.Connection) -> int:
    return int(one(connection, "SELECT max(coalesce((SELECT max(sequence) FROM interaction), 0),"
                               " coalesce((SELECT max(sequence) FROM log), 0))"))


def _read_log(connection: sqlite3.Connection, after: int, limit: int) -> LogSlice:
    through = min(after + limit, _recorded_through(connection))
    columns = many(connection, "SELECT json_array(json_group_array(sequence), json_group_array(user >> 1),"
                               " json_group_array(item >> 1), json_group_array(coalesce(negative >> 1, -1)),"
                               " json_group_array(weight), json_group_array(seed)) FROM"
                               " (SELECT * FROM interaction WHERE sequence > ? AND sequence <= ? ORDER BY sequence)",
                   after, through)
    entries = [LogEntry(sequence=sequence, kind=EntryKind(kind), refs=tuple(orjson.loads(refs)), number=number, time=at)
               for sequence, kind, refs, number, at in connection.execute(
                   "SELECT * FROM log WHERE sequence > ? AND sequence <= ? ORDER BY sequence", (after, through))]
    whole = [np.array(column, np.int64) for column in (*columns[:4], columns[5])]
    return LogSlice(
        interactions=Interactions(sequence=whole[0], user=whole[1], item=whole[2], negative=whole[3],
                                  weight=np.array(columns[4], np.float64), seed=whole[4].view(np.uint64)),
        entries=tuple(entries), through=max(through, after))


def clients_of(connection: sqlite3.Connection, refs: Sequence[int]) -> list[Client]:
    """Clients in the order of `refs`; unknown refs are left out."""
    rows = connection.execute(f"SELECT {CLIENT_READ} FROM json_each(?) e CROSS JOIN client ON ref = e.value"
                              " ORDER BY e.key", (dumped(list(refs)),))
    return [_client(row) for row in rows]


def _client(row: Sequence[object]) -> Client:
    ref, kind, id_, title, description, attributes, categories, hidden, metadata, sequence = row
    return Client.model_construct(
        ref=ref, key=ClientKey.model_construct(kind=ClientKind(kind), id=id_), title=title, description=description,
        attributes=tuple(orjson.loads(attributes)), categories=tuple(orjson.loads(categories)), hidden=bool(hidden),
        metadata=orjson.loads(metadata), sequence=sequence)  # type: ignore[arg-type]


def put_clients(connection: sqlite3.Connection, clients: Sequence[Client]) -> None:
    if not clients:
        return
    rows = [(client.ref, int(client.key.kind), client.key.id, client.title, client.description, dumped(client.attributes),
             dumped(client.categories), int(client.hidden), dumped(dict(client.metadata)), client.sequence)
            for client in clients]
    connection.execute(
        f"INSERT INTO client ({CLIENT_COLUMNS}) SELECT value->>0, value->>1, value->>2, value->>3, value->>4,"
        " value->>5, value->>6, value->>7, value->>8, value->>9 FROM json_each(?) WHERE true"
        " ON CONFLICT (ref) DO UPDATE SET title = excluded.title, description = excluded.description,"
        " attributes = excluded.attributes, categories = excluded.categories, hidden = excluded.hidden,"
        " metadata = excluded.metadata, sequence = excluded.sequence", (dumped(rows),))
