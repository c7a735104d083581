"""Messages, which are versions of routers, and the waiting ones."""

import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import starmap
from typing import Any

import orjson

from propagation.adapters.shared.upper_bounds import get_bound
from propagation.adapters.sqlite.connection import SqlitePart, read_many, read_one, reads, to_json
from propagation.model import IntegratedAttribute, RouterVersion, group_pairs, is_since_bootstrap
from propagation.reception.message_buffer import (
    ClientEdge,
    MessageKey,
    Receiver,
    SentMessage,
    WaitingMessages,
)

MESSAGE_ROWS, WAITING_ROWS = 4, 32
VERSIONS = (
    "SELECT v.router, v.version, v.round, v.epoch, v.name, v.text, v.attributes, v.standing,"
    " r.sequence, v.senders, v.written_by FROM json_each(?) e CROSS JOIN router_version v"
    " ON v.router = e.value->>0 AND v.version = e.value->>1 JOIN round r ON r.number = v.round"
)
# The first part of each of a message's lowest refs; the index alone finds the rows.
PARTS = (
    "SELECT json_group_array(json_array(e.value->>0, e.value->>1, json((SELECT "
    "json_group_array(json_array(i.attribute, i.ref,"
    " i.profile_version, i.sequence)) FROM (SELECT min(rowid) AS row FROM integrated WHERE "
    "router = e.value->>0"
    " AND version = e.value->>1 GROUP BY ref ORDER BY ref LIMIT ?2) f CROSS JOIN integrated i ON "
    "i.rowid = f.row))))"
    " FROM json_each(?1) e"
)
# The edges that rounds up to ?2 opened, of the clients in ?1 ([ref, watermark] of each). An edge
# that closed at or before its client's watermark is left out. Edges are looked up by client: one
# round may end an edge of every client, and each look-up by round would then read all of them.
EDGES = (
    "SELECT e.ref, e.router, e.opened, NULL FROM json_each(?1) a CROSS JOIN edge e"
    " ON e.ref = a.value->>0 AND e.opened <= ?2"
    " UNION ALL SELECT e.ref, e.router, e.opened, e.closed FROM json_each(?1) a CROSS JOIN"
    " edge_past e INDEXED BY edge_past_ref"
    " ON e.ref = a.value->>0 AND e.closed > a.value->>1 AND e.opened <= ?2"
)
WITH_EARLIER_EDGES = (
    "SELECT a.value->>0 FROM json_each(?) a WHERE EXISTS (SELECT 1 FROM edge_past e INDEXED BY"
    " edge_past_ref WHERE e.ref = a.value->>0 AND e.opened <= a.value->>1)"
)
ERAS = (
    "SELECT r.number, coalesce((SELECT era FROM epoch WHERE sequence <= r.sequence ORDER BY number"
    " DESC LIMIT 1), 0) FROM json_each(?) n CROSS JOIN round r ON r.number = n.value"
)
# Only a router's newest message is read: the index is searched from the newest round backwards.
CURRENT = (
    "SELECT p.value->>0, p.value->>1, v.version, v.round, v.lone, v.epoch FROM json_each(?) p"
    " CROSS JOIN router_version v INDEXED BY router_version_of_round ON v.router = p.value->>0"
    " AND v.round = (SELECT max(round) FROM router_version w WHERE w.router = p.value->>0"
    " AND w.round <= p.value->>1)"
)
FROM_OTHERS = (
    "SELECT p.key, v.version, v.round, v.lone, v.epoch FROM json_each(?) p CROSS JOIN"
    " router_version v INDEXED BY router_version_of_round ON v.router = p.value->>0"
    " AND v.round = (SELECT w.round FROM router_version w INDEXED BY router_version_of_round"
    " WHERE w.router = p.value->>0 AND w.round BETWEEN p.value->>1 AND p.value->>2"
    " AND w.lone IS NOT p.value->>3 ORDER BY w.round DESC LIMIT 1)"
)


class SqliteMessages(SqlitePart):
    """Reads published messages, whole or shortened, and the waiting ones."""

    @reads
    def get_messages_of(
        self, connection: sqlite3.Connection, number: int
    ) -> Sequence[RouterVersion]:
        keys = connection.execute(
            "SELECT router, version FROM router_version WHERE round = ?", (number,)
        ).fetchall()
        return sorted(
            read_brief_versions(connection, keys).values(), key=lambda version: version.router
        )

    @reads
    def get_router_versions(
        self, connection: sqlite3.Connection, routers: Sequence[int], at: int | None = None
    ) -> Sequence[RouterVersion]:
        """Return the newest published version of each router since the newest bootstrap."""
        era = read_one(
            connection,
            "SELECT era FROM epoch WHERE sequence <= coalesce(?, sequence) ORDER BY number DESC"
            " LIMIT 1",
            at,
        )
        newest = get_version_numbers(connection, routers, at)
        return [
            version
            for version in read_brief_versions(connection, list(newest.items())).values()
            if is_since_bootstrap(version.epoch, era or 0)
        ]

    @reads
    def get_version_numbers(
        self, connection: sqlite3.Connection, routers: Sequence[int]
    ) -> Mapping[int, int]:
        return get_version_numbers(connection, routers)

    @reads
    def get_router_history(
        self, connection: sqlite3.Connection, router: int, limit: int, before: int | None = None
    ) -> Sequence[RouterVersion]:
        keys = connection.execute(
            "SELECT router, version FROM router_version WHERE router = ? AND version < ? AND"
            " round <= ? ORDER BY version DESC LIMIT ?",
            (router, get_bound(before), find_last_round(connection), limit),
        ).fetchall()
        return list(read_brief_versions(connection, keys).values())

    @reads
    def get_router_version(
        self, connection: sqlite3.Connection, router: int, version: int
    ) -> RouterVersion | None:
        found = read_brief_versions(connection, [(router, version)]).get((router, version))
        if found is None:
            return None
        parts = read_many(
            connection,
            "SELECT json_group_array(json_array(attribute, ref, profile_version, sequence))"
            " FROM (SELECT * FROM integrated WHERE router = ? AND version = ? ORDER BY rowid)",
            router,
            version,
        )
        return replace(found, integrated=tuple(starmap(IntegratedAttribute, parts)))

    async def get_messages(
        self, keys: Sequence[tuple[int, int]], senders: int
    ) -> Mapping[tuple[int, int], RouterVersion]:
        return await self._database.read(
            lambda connection: _read_messages(connection, keys, senders), MESSAGE_ROWS * len(keys)
        )

    @reads
    def get_parts_carrying(
        self,
        connection: sqlite3.Connection,
        keys: Sequence[tuple[int, int]],
        attributes: Sequence[str],
        except_ref: int,
    ) -> Mapping[tuple[int, int], Sequence[IntegratedAttribute]]:
        return group_pairs(
            ((router, version), IntegratedAttribute(*part))
            for router, version, *part in read_many(
                connection,
                "SELECT json_group_array(json_array(router, version, attribute, ref,"
                " profile_version, sequence)) FROM (SELECT i.* FROM json_each(?) e CROSS JOIN"
                " integrated i ON i.router = e.value->>0 AND i.version = e.value->>1 WHERE i.ref"
                " <> ? AND i.attribute IN (SELECT value FROM json_each(?)) ORDER BY i.rowid)",
                to_json(sorted(set(keys))),
                except_ref,
                to_json(list(attributes)),
            )
        )

    @reads
    def get_contributions(
        self, connection: sqlite3.Connection, ref: int, limit: int
    ) -> Sequence[RouterVersion]:
        parts = group_pairs(
            ((router, version), part)
            for router, version, *part in connection.execute(
                "SELECT i.router, i.version, i.attribute, i.ref, i.profile_version, i.sequence"
                " FROM integrated i JOIN router_version v ON v.router = i.router"
                " AND v.version = i.version WHERE i.ref = ? AND v.round <= ?"
                " ORDER BY v.round DESC, v.router",
                (ref, find_last_round(connection)),
            ).fetchall()
        )
        versions = read_brief_versions(connection, list(parts)[:limit])
        return [
            replace(version, integrated=tuple(starmap(IntegratedAttribute, parts[key])))
            for key, version in versions.items()
        ]

    async def get_waiting_messages(
        self, refs_after: Mapping[int, int], through: int | None = None
    ) -> Mapping[int, Sequence[RouterVersion]]:
        return await self._database.read(
            lambda connection: get_waiting_messages(connection, refs_after, through),
            WAITING_ROWS * len(refs_after),
        )


def find_last_round(connection: sqlite3.Connection, at: int | None = None) -> int:
    """Return the number of the newest published round; 0 before the first.

    Args:
        at: The newest round at this sequence; None: now.
    """
    return (
        read_one(
            connection,
            "SELECT number FROM round WHERE ?1 IS NULL OR sequence <= ?1 ORDER BY number DESC"
            " LIMIT 1",
            at,
        )
        or 0
    )


def read_brief_versions(
    connection: sqlite3.Connection, keys: Sequence[tuple[int, int]]
) -> dict[tuple[int, int], RouterVersion]:
    """Return published versions by (router, version), with `integrated` shortened.

    They are in the order of the keys; unknown keys are left out.
    """
    return {
        (row[0], row[1]): _build_version(row)
        for row in connection.execute(VERSIONS, (to_json(keys),))
    }


def get_version_numbers(
    connection: sqlite3.Connection, routers: Sequence[int], at: int | None = None
) -> dict[int, int]:
    """Return the number of each router's newest published version, by router."""
    return dict(
        connection.execute(
            "SELECT v.router, max(v.version) FROM json_each(?) e CROSS JOIN router_version v"
            " ON v.router = e.value WHERE v.round <= ? GROUP BY v.router ORDER BY v.router",
            (to_json(list(routers)), find_last_round(connection, at)),
        ).fetchall()
    )


def _read_messages(
    connection: sqlite3.Connection, keys: Sequence[tuple[int, int]], senders: int
) -> dict[tuple[int, int], RouterVersion]:
    """Return published versions, each with the parts of some clients.

    Args:
        keys: (router, version) of each message.
        senders: How many clients' parts a version has at most, those with the lowest refs.
    """
    parts = {
        (router, version): part
        for router, version, part in read_many(connection, PARTS, to_json(list(keys)), senders)
    }
    return {
        key: replace(version, integrated=tuple(starmap(IntegratedAttribute, parts[key])))
        for key, version in read_brief_versions(connection, keys).items()
    }


def _build_version(row: Sequence[Any]) -> RouterVersion:
    return RouterVersion(
        router=row[0],
        version=row[1],
        round=row[2],
        epoch=row[3],
        name=row[4],
        text=row[5],
        attributes=tuple(orjson.loads(row[6])),
        standing=tuple(map(tuple, orjson.loads(row[7]))),
        sequence=row[8],
        integrated=tuple(starmap(IntegratedAttribute, orjson.loads(row[9]))),
        written_by=row[10] or "",
    )


def get_waiting_messages(
    connection: sqlite3.Connection, refs_after: Mapping[int, int], through: int | None = None
) -> dict[int, list[RouterVersion]]:
    """Return each client's messages after its watermark, newest round first."""
    last = find_last_round(connection)
    keys = read_waiting_keys(
        connection, refs_after, last if through is None else min(through, last)
    )
    versions = read_brief_versions(
        connection, sorted({key for found in keys.values() for key in found})
    )
    return {ref: [versions[key] for key in found] for ref, found in keys.items()}


def read_waiting_keys(
    connection: sqlite3.Connection, refs_after: Mapping[int, int], through: int
) -> dict[int, list[MessageKey]]:
    """Return the keys of each client's waiting messages, newest round first."""
    search = WaitingMessages(_read_receivers(connection, refs_after, through), through)
    current = {
        (router, round_): SentMessage(router, *sent)
        for router, round_, *sent in connection.execute(CURRENT, (to_json(search.list_rounds()),))
    }
    own = search.list_own_windows(current)
    from_others = {
        own[place]: SentMessage(own[place].router, *sent)
        for place, *sent in (
            connection.execute(FROM_OTHERS, (to_json(list(map(list, own))),)) if own else ()
        )
    }
    return {ref: [] for ref in refs_after} | search.choose(current, from_others)


def _read_receivers(
    connection: sqlite3.Connection, refs_after: Mapping[int, int], through: int
) -> list[Receiver]:
    asked = [(ref, after) for ref, after in refs_after.items() if after < through]
    edges = group_pairs(
        (ref, ClientEdge(router, opened, closed))
        for ref, router, opened, closed in connection.execute(EDGES, (to_json(asked), through))
    )
    firsts = {ref: min([edge.opened for edge in found]) for ref, found in edges.items()}
    late = [(ref, refs_after[ref]) for ref, first in firsts.items() if first > refs_after[ref]]
    known = set(connection.execute(WITH_EARLIER_EDGES, (to_json(late),))) if late else set()
    new = {ref: firsts[ref] for ref, _ in late if (ref,) not in known}
    eras = dict(connection.execute(ERAS, (to_json(sorted({*new.values()})),))) if new else {}
    return [
        Receiver(ref, refs_after[ref], found, new.get(ref), eras.get(new.get(ref, 0), 0))
        for ref, found in edges.items()
    ]
