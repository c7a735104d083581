"""Messages, which are versions of routers, and those that wait."""

import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import starmap
from pathlib import Path
from typing import Any

import orjson

from propagation.adapters.sqlite.connection import SqlitePart, read_many, read_one, reads, to_json
from propagation.model import IntegratedAttribute, RouterVersion, group_pairs

MESSAGE_ROWS, WAITING_ROWS = 4, 32
WAITING = Path(__file__).with_name("waiting_messages.sql").read_text()
"""Finds the messages that wait for clients; the file tells the rule."""

VERSIONS = (
    "SELECT v.router, v.version, v.round, v.epoch, v.name, v.text, v.attributes, v.standing,"
    " r.sequence, v.senders, v.written_by FROM json_each(?) e CROSS JOIN router_version v"
    " ON v.router = e.value->>0 AND v.version = e.value->>1 JOIN round r ON r.number = v.round"
)
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
    """Reads published messages and those that wait, whole or in parts."""

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
            if version.epoch >= (era or 0)
        ]

    @reads
    def get_version_numbers(
        self, connection: sqlite3.Connection, routers: Sequence[int]
    ) -> Mapping[int, int]:
        return get_version_numbers(connection, routers)

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
        parts: dict[tuple[int, int], list[list[Any]]] = {}
        for router, version, *part in connection.execute(
            "SELECT i.router, i.version, i.attribute, i.ref, i.profile_version, i.sequence FROM "
            "integrated i"
            " JOIN router_version v ON v.router = i.router AND v.version = i.version WHERE i.ref "
            "= ? "
            "AND v.round <= ?"
            " ORDER BY v.round DESC, v.router",
            (ref, find_last_round(connection)),
        ).fetchall():
            if (router, version) in parts or len(parts) < limit:
                parts.setdefault((router, version), []).append(part)
        versions = read_brief_versions(connection, list(parts))
        return [
            replace(versions[key], integrated=tuple(starmap(IntegratedAttribute, of)))
            for key, of in parts.items()
        ]

    async def get_waiting_messages(
        self, refs_after: Mapping[int, int], through: int | None = None
    ) -> Mapping[int, Sequence[RouterVersion]]:
        return await self._database.read(
            lambda connection: get_waiting_messages(connection, refs_after, through),
            WAITING_ROWS * len(refs_after),
        )


def find_last_round(connection: sqlite3.Connection, at: int | None = None) -> int:
    """Return the newest published round (at a sequence: the newest then).

    Returns:
        0 before the first.
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

    They come in the order of the keys.
    """
    return {
        (row[0], row[1]): _build_version(row)
        for row in connection.execute(VERSIONS, (to_json(keys),))
    }


def get_version_numbers(
    connection: sqlite3.Connection, routers: Sequence[int], at: int | None = None
) -> dict[int, int]:
    """Return the newest published version's number of each router, by router."""
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
        senders: How many clients' parts a version has at most, those of the lowest refs.
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
        integrated=tuple(starmap(IntegratedAttribute, orjson.loads(row[9]))),
        sequence=row[8],
        written_by=row[10] or "",
    )


def get_waiting_messages(
    connection: sqlite3.Connection, refs_after: Mapping[int, int], through: int | None = None
) -> dict[int, list[RouterVersion]]:
    """Return what waits for each client after its watermark, newest round first."""
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
) -> dict[int, list[tuple[int, int]]]:
    """Return the messages that wait for each client, newest first.

    They come after the client's watermark. See WAITING for the rule.

    Returns:
        (router, version) of each message, by ref.
    """
    waiting: dict[int, list[tuple[int, int]]] = {ref: [] for ref in refs_after}
    found = connection.execute(
        WAITING, {"asked": to_json(list(refs_after.items())), "through": through}
    ).fetchone()[0]
    for ref, router, version in orjson.loads(found):
        waiting[ref].append((router, version))
    return waiting
