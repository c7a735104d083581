"""RecordStore on SQLite.

It keeps only keyed hashes of the ids of forgotten events.
"""

import sqlite3
from collections.abc import Collection, Mapping, Sequence

import orjson

from propagation.adapters.shared.erasure import compute_event_hash, create_key
from propagation.adapters.sqlite.connection import (
    read_fact,
    read_one,
    spread_fields,
    to_json,
    writes,
)
from propagation.adapters.sqlite.record.clients import keep_contents, put_clients, read_clients
from propagation.adapters.sqlite.record.log import SqliteLog, append_entry
from propagation.graph_rules import (
    EventDecisions,
    RecordedEvent,
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
    derive_seed,
)
from propagation.ports import RecordResult

FORGETTING_KEY = "forgetting_key"
"""Name of the stored key of the hashes.

There is no key before the first erasure.
"""


def store_forgotten_events(connection: sqlite3.Connection, event_ids: Sequence[str]) -> None:
    """Store keyed hashes of these event ids."""
    key = read_fact(connection, FORGETTING_KEY)
    if key is None:
        key = create_key()
        connection.execute("INSERT INTO meta VALUES (?, ?)", (FORGETTING_KEY, key))
    connection.executemany(
        "INSERT OR IGNORE INTO forgotten VALUES (?)",
        [(compute_event_hash(key, event_id),) for event_id in event_ids],
    )


def find_forgotten(connection: sqlite3.Connection, event_ids: Sequence[str]) -> set[str]:
    """Return those of the event ids that were forgotten."""
    return _find_forgotten(connection, read_fact(connection, FORGETTING_KEY), event_ids)


def _find_forgotten(
    connection: sqlite3.Connection, key: bytes | None, event_ids: Sequence[str]
) -> set[str]:
    if key is None:
        return set()
    return {
        event_id
        for event_id in event_ids
        if read_one(
            connection, "SELECT 1 FROM forgotten WHERE event = ?", compute_event_hash(key, event_id)
        )
        is not None
    }


# The rows get consecutive sequences in their order, from ?1 on.
INSERT = (
    "INSERT INTO interaction (sequence, event_id, content_hash, user, item, negative, time, "
    "weight, seed, metadata, at)"
    f" SELECT ?1 + key, {spread_fields(9)}, ?2 FROM json_each(?3)"
)


class SqliteRecords(SqliteLog):
    """The record commit."""

    @writes
    def upsert_clients(
        self, connection: sqlite3.Connection, changes: Sequence[ClientChange]
    ) -> Sequence[ClientOutcome]:
        refs = [self._directory.ref_now(change.key.kind, change.key.id) for change in changes]
        known = {
            client.key: client
            for client in read_clients(connection, [ref for ref in refs if ref is not None])
        }
        created = {
            key: self._directory.add(key.kind, key.id)
            for key in list_keys_to_create(changes, known)
        }
        upsert = merge_changes(changes, known, created)
        return upsert.outcomes(self._put_clients(connection, upsert.changed))

    async def record(self, events: Sequence[NewInteraction], *, auto_create: bool) -> RecordResult:
        # Hash and encode here, because time on the writer's thread limits the rate of events.
        seeds = {event.event_id: derive_seed(event.event_id) for event in events}
        ids_and_seeds = to_json(list(seeds.items()))
        user_ids = {event.user_id for event in events}
        item_ids = {event.item_id for event in events}
        item_ids.update(event.negative_id for event in events if event.negative_id is not None)

        def work(connection: sqlite3.Connection) -> RecordResult:
            users = self._find_refs_of(ClientKind.USER, user_ids)
            items = self._find_refs_of(ClientKind.ITEM, item_ids)
            recorded, forgotten = _read_seen_before(connection, seeds, ids_and_seeds)
            decisions = EventDecisions(recorded, forgotten, users, items)
            for event in events:
                decisions.decide(event, auto_create=auto_create)
            new = [
                Client(
                    ref=self._directory.add(kind, id_),
                    key=ClientKey(kind, id_),
                    only_in_events=True,
                )
                for kind, id_ in decisions.created
            ]
            for client in new:
                (items if client.key.kind else users)[client.key.id] = client.ref
            self._put_clients(connection, new, new=True)
            first = self._directory.take_sequences(len(decisions.accepted))
            rows = [
                _build_interaction_row(event, seeds, users, items) for event in decisions.accepted
            ]
            if rows:
                connection.execute(INSERT, (first, self._directory.now(), to_json(rows)))
            return RecordResult(
                outcomes=decisions.outcomes(first),
                created={(int(client.key.kind), client.key.id): client.ref for client in new},
            )

        return await self._database.write(work)

    def _find_refs_of(self, kind: ClientKind, ids: Collection[str]) -> dict[str, int]:
        """Return the refs of the ids that the graph has."""
        found = {id_: self._directory.ref_now(kind, id_) for id_ in ids}
        return {id_: ref for id_, ref in found.items() if ref is not None}

    def _put_clients(
        self, connection: sqlite3.Connection, clients: Sequence[Client], *, new: bool = False
    ) -> int:
        """Store clients at a log entry of their own.

        Args:
            new: Whether the store has none of them.

        Returns:
            The entry's sequence; 0 without clients.
        """
        if not clients:
            return 0
        sequence = append_entry(
            connection, self._directory, EntryKind.CLIENTS, [client.ref for client in clients]
        )
        if not new:
            keep_contents(connection, clients, sequence)
        put_clients(connection, clients, sequence, new=new)
        return sequence


def _build_interaction_row(
    event: NewInteraction,
    seeds: Mapping[str, int],
    users: Mapping[str, int],
    items: Mapping[str, int],
) -> tuple[object, ...]:
    return (
        event.event_id,
        event.content_hash,
        users[event.user_id],
        items[event.item_id],
        None if event.negative_id is None else items[event.negative_id],
        event.time,
        event.weight,
        seeds[event.event_id],
        to_json(dict(event.metadata)) if event.metadata else None,
    )


# Two JSON arrays of events that were recorded and retracted, and the key of forgotten ones; one
# statement, because the writer may wait for the interpreter lock after each.
SEEN_BEFORE = "SELECT {interaction}, {retracted}, (SELECT value FROM meta WHERE name = ?2)".format(
    **{
        table: (
            "(SELECT json_group_array(json_array(i.event_id, i.content_hash, i.sequence))"
            f" FROM json_each(?1) e CROSS JOIN {table} i"
            " ON i.seed = e.value->>1 AND i.event_id = e.value->>0)"
        )
        for table in ("interaction", "retracted")
    }
)


def _read_seen_before(
    connection: sqlite3.Connection, seeds: Mapping[str, int], ids_and_seeds: str
) -> tuple[dict[str, RecordedEvent], set[str]]:
    """Find events that the store has seen before.

    Args:
        seeds: The seed of each event id.
        ids_and_seeds: The same as a JSON array of [event id, seed].

    Returns:
        Recorded and retracted events by event id, and the ids that were forgotten.
    """
    *arrays, key = connection.execute(SEEN_BEFORE, (ids_and_seeds, FORGETTING_KEY)).fetchone()
    recorded = {
        event_id: RecordedEvent(content_hash, sequence)
        for array in arrays
        for event_id, content_hash, sequence in orjson.loads(array)
    }
    return recorded, _find_forgotten(connection, key, list(seeds))
