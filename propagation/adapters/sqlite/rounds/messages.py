"""Router versions, which are the messages, and which of them wait for a client."""

import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import starmap
from typing import Any

import orjson

from propagation.adapters.sqlite.connection import SqlitePart, dumped, many, one, reads
from propagation.model import IntegratedAttribute, RouterVersion

WAITING_ROWS, MESSAGE_ROWS = 32, 4

VERSION = (
    "json_array(v.router, v.version, v.round, v.epoch, v.name, v.text, json(v.attributes),"
    " json(v.standing), r.sequence, json(v.senders), v.written_by)"
)
# An edge that closed at or before the watermark has nothing that waits: of a long history only its
# end is read. A client's first edge is looked for until its watermark has passed it: what was
# current then waits as if just sent. What comes from a client alone is not sent to it, so it
# supersedes nothing that waits. Of an edge only the newest version is looked for, from the newest
# round backwards: a client that slept for a thousand rounds has a thousand versions of each router
# behind it. Always by client: one round may end an edge of every client, and an index of rounds
# would then be read whole for each.
WAITING = """
WITH asked AS (SELECT value->>0 AS ref, value->>1 AS after FROM json_each(:asked)),
first AS (
  SELECT a.ref, a.after,
    (SELECT min(opened) FROM (SELECT e.opened FROM edge e WHERE e.ref = a.ref UNION ALL
     SELECT e.opened FROM edge_past e WHERE e.ref = a.ref) WHERE opened <= :through) AS opened
  FROM asked a WHERE NOT EXISTS (SELECT 1 FROM edge e WHERE e.ref = a.ref AND e.opened <= a.after)
   AND NOT EXISTS (SELECT 1 FROM edge_past e INDEXED BY edge_past_ref WHERE e.ref = a.ref AND
     e.opened <= a.after)),
over AS (
  SELECT f.ref, f.opened, e.router FROM first f CROSS JOIN edge e ON e.ref = f.ref AND e.opened
    = f.opened
  WHERE f.after < f.opened UNION ALL
  SELECT f.ref, f.opened, e.router FROM first f CROSS JOIN edge_past e INDEXED BY edge_past_ref
    ON e.ref = f.ref
   AND e.opened = f.opened WHERE f.after < f.opened),
sent AS (
  SELECT a.ref, v.router, v.version, v.round
  FROM asked a CROSS JOIN edge e ON e.ref = a.ref AND e.opened <= :through
  CROSS JOIN router_version v INDEXED BY router_version_of_round ON v.router = e.router AND
    v.round =
    (SELECT w.round FROM router_version w INDEXED BY router_version_of_round WHERE w.router =
      e.router
     AND w.round BETWEEN max(a.after + 1, e.opened) AND :through AND w.lone IS NOT a.ref
       ORDER BY w.round DESC LIMIT 1)
  UNION ALL
  SELECT a.ref, v.router, v.version, v.round
  FROM asked a CROSS JOIN edge_past e INDEXED BY edge_past_ref ON e.ref = a.ref AND e.closed >
    a.after AND e.opened <= :through
  CROSS JOIN router_version v INDEXED BY router_version_of_round ON v.router = e.router AND
    v.round =
    (SELECT w.round FROM router_version w INDEXED BY router_version_of_round WHERE w.router =
      e.router
     AND w.round BETWEEN max(a.after + 1, e.opened) AND min(:through, e.closed - 1) AND
       w.lone IS NOT a.ref
     ORDER BY w.round DESC LIMIT 1)
  UNION ALL
  SELECT o.ref, v.router, v.version, v.round
  FROM over o CROSS JOIN router_version v INDEXED BY router_version_of_round ON v.router =
    o.router AND v.round =
    (SELECT max(w.round) FROM router_version w WHERE w.router = o.router AND w.round <=
      o.opened) AND v.lone IS NOT o.ref)
SELECT json_group_array(json_array(ref, router, version)) FROM (
  SELECT ref, router, max(version) AS version FROM sent GROUP BY ref, router ORDER BY ref,
    max(round) DESC, router)
"""
# Of each message the first part of each of its lowest refs, which the index alone finds.
PARTS = (
    "SELECT json_group_array(json_array(e.value->>0, e.value->>1, json((SELECT "
    "json_group_array(json_array(i.attribute, i.ref,"
    " i.profile_version, i.sequence)) FROM (SELECT min(rowid) AS row FROM integrated WHERE "
    "router = e.value->>0"
    " AND version = e.value->>1 GROUP BY ref ORDER BY ref LIMIT ?2) f CROSS JOIN integrated i ON "
    "i.rowid = f.row))))"
    " FROM json_each(?1) e"
)


class SqliteMessages(SqlitePart):
    """Reads published messages, whole or with some of their parts."""

    async def waiting_messages(
        self, refs_after: Mapping[int, int], through: int | None = None
    ) -> Mapping[int, Sequence[RouterVersion]]:
        return await self._database.read(
            lambda connection: waiting_messages(connection, refs_after, through),
            WAITING_ROWS * len(refs_after),
        )

    @reads
    def messages_of(self, connection: sqlite3.Connection, number: int) -> Sequence[RouterVersion]:
        keys = connection.execute(
            "SELECT router, version FROM router_version WHERE round = ?", (number,)
        ).fetchall()
        return sorted(brief_versions(connection, keys).values(), key=lambda version: version.router)

    @reads
    def router_versions(
        self, connection: sqlite3.Connection, routers: Sequence[int], at: int | None = None
    ) -> Sequence[RouterVersion]:
        """Return the newest published version of each router since the newest bootstrap."""
        era = (
            one(
                connection,
                "SELECT era FROM epoch WHERE sequence <= coalesce(?, sequence) ORDER BY number "
                "DESC LIMIT 1",
                at,
            )
            or 0
        )
        newest = version_numbers(connection, routers, at)
        return [
            version
            for version in brief_versions(connection, list(newest.items())).values()
            if version.epoch >= era
        ]

    @reads
    def version_numbers(
        self, connection: sqlite3.Connection, routers: Sequence[int]
    ) -> Mapping[int, int]:
        return version_numbers(connection, routers)

    @reads
    def router_version(
        self, connection: sqlite3.Connection, router: int, version: int
    ) -> RouterVersion | None:
        found = brief_versions(connection, [(router, version)]).get((router, version))
        if found is None:
            return None
        parts = many(
            connection,
            "SELECT json_group_array(json_array(attribute, ref, profile_version, sequence))"
            " FROM (SELECT * FROM integrated WHERE router = ? AND version = ? ORDER BY rowid)",
            router,
            version,
        )
        return replace(found, integrated=tuple(starmap(IntegratedAttribute, parts)))

    async def messages(
        self, keys: Sequence[tuple[int, int]], senders: int
    ) -> Mapping[tuple[int, int], RouterVersion]:
        return await self._database.read(
            lambda connection: _messages(connection, keys, senders), MESSAGE_ROWS * len(keys)
        )

    @reads
    def parts_carrying(
        self,
        connection: sqlite3.Connection,
        keys: Sequence[tuple[int, int]],
        attributes: Sequence[str],
        but: int,
    ) -> Mapping[tuple[int, int], Sequence[IntegratedAttribute]]:
        parts: dict[tuple[int, int], list[IntegratedAttribute]] = {}
        for router, version, *part in many(
            connection,
            "SELECT json_group_array(json_array(router, version, attribute, ref, profile_version,"
            " sequence)) FROM (SELECT i.* FROM json_each(?) e CROSS JOIN integrated i ON i.router ="
            " e.value->>0 AND i.version = e.value->>1 WHERE i.ref <> ? AND i.attribute IN (SELECT"
            " value FROM json_each(?)) ORDER BY i.rowid)",
            dumped(sorted(set(keys))),
            but,
            dumped(list(attributes)),
        ):
            parts.setdefault((router, version), []).append(IntegratedAttribute(*part))
        return parts

    @reads
    def contributions(
        self, connection: sqlite3.Connection, ref: int, limit: int
    ) -> Sequence[RouterVersion]:
        parts: dict[tuple[int, int], list[list[Any]]] = {}
        for router, version, *part in connection.execute(
            "SELECT i.router, i.version, i.attribute, i.ref, i.profile_version, i.sequence FROM "
            "integrated i"
            " JOIN router_version v ON v.router = i.router AND v.version = i.version WHERE i.ref "
            "= ? "
            "AND v.round <= ?"
            " ORDER BY v.round DESC, v.router",
            (ref, last_round(connection)),
        ).fetchall():
            if (router, version) in parts or len(parts) < limit:
                parts.setdefault((router, version), []).append(part)
        versions = brief_versions(connection, list(parts))
        return [
            replace(versions[key], integrated=tuple(starmap(IntegratedAttribute, of)))
            for key, of in parts.items()
        ]


def last_round(connection: sqlite3.Connection, at: int | None = None) -> int:
    """Return the newest published round (at a sequence: the newest then); 0 before the first."""
    if at is None:
        return int(one(connection, "SELECT coalesce(max(number), 0) FROM round"))
    return (
        one(
            connection,
            "SELECT number FROM round WHERE sequence <= ? ORDER BY number DESC LIMIT 1",
            at,
        )
        or 0
    )


def waiting_messages(
    connection: sqlite3.Connection, refs_after: Mapping[int, int], through: int | None = None
) -> dict[int, list[RouterVersion]]:
    """Return what waits for each client after its watermark, newest round first."""
    last = last_round(connection)
    keys = waiting_keys(connection, refs_after, last if through is None else min(through, last))
    versions = brief_versions(connection, sorted({key for found in keys.values() for key in found}))
    return {ref: [versions[key] for key in found] for ref, found in keys.items()}


def waiting_keys(
    connection: sqlite3.Connection, refs_after: Mapping[int, int], through: int
) -> dict[int, list[tuple[int, int]]]:
    """Return (router, version) of what waits for each client after its watermark, newest first.

    The rule is `propagation.reception.message_buffer.WaitingMessages`. This is the same rule as one
    statement, for speed; a property test compares the two.
    """
    waiting: dict[int, list[tuple[int, int]]] = {ref: [] for ref in refs_after}
    found = connection.execute(
        WAITING, {"asked": dumped(list(refs_after.items())), "through": through}
    ).fetchone()[0]
    for ref, router, version in orjson.loads(found):
        waiting[ref].append((router, version))
    return waiting


def brief_versions(
    connection: sqlite3.Connection, keys: Sequence[tuple[int, int]]
) -> dict[tuple[int, int], RouterVersion]:
    """Return published versions by (router, version), with `integrated` shortened."""
    rows = many(
        connection,
        f"SELECT json_group_array({VERSION}) FROM json_each(?) e CROSS JOIN router_version v"
        " ON v.router = e.value->>0 AND v.version = e.value->>1 JOIN round r ON r.number = v.round",
        dumped(keys),
    )
    return {(row[0], row[1]): _version(row) for row in rows}


def version_numbers(
    connection: sqlite3.Connection, routers: Sequence[int], at: int | None = None
) -> dict[int, int]:
    """Return the newest published version's number of each router, by router."""
    return dict(
        connection.execute(
            "SELECT v.router, max(v.version) FROM json_each(?) e CROSS JOIN router_version v"
            " ON v.router = e.value WHERE v.round <= ? GROUP BY v.router ORDER BY v.router",
            (dumped(list(routers)), last_round(connection, at)),
        ).fetchall()
    )


def _messages(
    connection: sqlite3.Connection, keys: Sequence[tuple[int, int]], senders: int
) -> dict[tuple[int, int], RouterVersion]:
    """Return published versions with a part of at most `senders` clients, the lowest refs."""
    parts = {
        (router, version): part
        for router, version, part in many(connection, PARTS, dumped(list(keys)), senders)
    }
    return {
        key: replace(version, integrated=tuple(starmap(IntegratedAttribute, parts[key])))
        for key, version in brief_versions(connection, keys).items()
    }


def _version(row: Sequence[Any]) -> RouterVersion:
    return RouterVersion(
        router=row[0],
        version=row[1],
        round=row[2],
        epoch=row[3],
        name=row[4],
        text=row[5],
        attributes=tuple(row[6]),
        standing=tuple(map(tuple, row[7])),
        integrated=tuple(starmap(IntegratedAttribute, row[9])),
        sequence=row[8],
        written_by=row[10] or "",
    )
