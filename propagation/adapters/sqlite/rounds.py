"""RoundStore on SQLite: rows carry their round; what is above progress.round is invisible."""

import sqlite3
from collections.abc import Mapping, Sequence

import orjson

from propagation.adapters.sqlite.database import Database
from propagation.adapters.sqlite.leases import check_fence
from propagation.adapters.sqlite.record import SqliteRecords
from propagation.adapters.sqlite.rows import dumped, many, one
from propagation.model.attribute import Attribute
from propagation.model.log import EntryKind
from propagation.model.round import Round
from propagation.model.router import Integrated, RouterVersion, RoutingEdge
from propagation.ports.leases import Lease

EDGE = ("SELECT e.router, e.ref, e.score, o.sequence, c.sequence FROM edge e JOIN round o ON o.number = e.opened"
        " LEFT JOIN round c ON c.number = e.closed")
VERSION = ("SELECT v.router, v.version, v.round, v.epoch, v.name, v.text, v.attributes, v.standing, r.sequence"
           " FROM router_version v JOIN round r ON r.number = v.round")


class SqliteRounds:
    """Staging by round number, one publication."""

    def __init__(self, database: Database, records: SqliteRecords) -> None:
        self._database = database
        self._records = records

    async def last_round(self) -> Round | None:
        def work(connection: sqlite3.Connection) -> Round | None:
            row = connection.execute("SELECT * FROM round ORDER BY number DESC LIMIT 1").fetchone()
            return None if row is None else Round(number=row[0], boundary=row[1], sequence=row[2], changed=row[3],
                                                  touched=row[4], edges_opened=row[5], edges_closed=row[6], reached=row[7])

        return await self._database.read(work)

    async def changed_clients(self, after: int, through: int) -> Sequence[int]:
        return await self._database.read(lambda connection: sorted(many(
            connection, "SELECT json_group_array(DISTINCT ref) FROM profile_version WHERE sequence > ? AND sequence <= ?",
            after, through)))

    async def begin_round(self, lease: Lease, boundary: int) -> Round:
        def work(connection: sqlite3.Connection) -> Round:
            check_fence(connection, lease)
            last = one(connection, "SELECT coalesce(max(number), 0) FROM round")
            for table in ("staged_attribute", "staged_held"):
                connection.execute(f"DELETE FROM {table}")
            connection.execute("DELETE FROM integrated WHERE (router, version) IN"
                               " (SELECT router, version FROM router_version WHERE round > ?)", (last,))
            connection.execute("DELETE FROM router_version WHERE round > ?", (last,))
            connection.execute("DELETE FROM edge WHERE opened > ?", (last,))
            connection.execute("UPDATE edge SET closed = NULL WHERE closed > ?", (last,))
            return Round(number=last + 1, boundary=boundary)

        return await self._database.write(work)

    async def stage_attributes(self, lease: Lease, round_: Round, attributes: Sequence[Attribute],
                               held: Mapping[int, Sequence[str]]) -> None:
        def work(connection: sqlite3.Connection) -> None:
            check_fence(connection, lease)
            connection.execute("INSERT OR REPLACE INTO staged_attribute SELECT value->>0, value->>1, value->>2 FROM json_each(?)",
                               (dumped([(a.name, a.router, a.holders) for a in attributes]),))
            connection.execute("INSERT OR REPLACE INTO staged_held SELECT value->>0, value->>1 FROM json_each(?)",
                               (dumped([(ref, list(names)) for ref, names in held.items()]),))

        await self._database.write(work)

    async def stage_routers(self, lease: Lease, round_: Round, versions: Sequence[RouterVersion]) -> None:
        def work(connection: sqlite3.Connection) -> None:
            check_fence(connection, lease)
            connection.execute(
                "INSERT INTO router_version SELECT value->>0, value->>1, value->>2, value->>3, value->>4, value->>5,"
                " value->>6, value->>7 FROM json_each(?)", (dumped([
                    (v.router, v.version, round_.number, v.epoch, v.name, v.text, v.attributes, v.standing)
                    for v in versions]),))
            connection.execute(
                "INSERT INTO integrated SELECT value->>0, value->>1, value->>2, value->>3, value->>4, value->>5"
                " FROM json_each(?)", (dumped([(v.router, v.version, part.attribute, part.ref, part.profile_version,
                                                part.sequence) for v in versions for part in v.integrated]),))

        await self._database.write(work)

    async def stage_edges(self, lease: Lease, round_: Round, closed: Sequence[tuple[int, int]],
                          opened: Sequence[RoutingEdge]) -> None:
        def work(connection: sqlite3.Connection) -> None:
            check_fence(connection, lease)
            connection.execute("UPDATE edge SET closed = ?1 WHERE rowid IN (SELECT g.rowid FROM json_each(?2) e"
                               " CROSS JOIN edge g INDEXED BY edge_ref WHERE g.ref = e.value->>1 AND g.closed IS NULL"
                               " AND g.router = e.value->>0 AND g.opened < ?1)", (round_.number, dumped(list(closed))))
            connection.execute("INSERT INTO edge SELECT value->>0, value->>1, value->>2, ?, NULL FROM json_each(?)",
                               (round_.number, dumped([(edge.router, edge.ref, edge.score) for edge in opened])))

        await self._database.write(work)

    async def publish_round(self, lease: Lease, round_: Round) -> Round:
        def work(connection: sqlite3.Connection) -> Round:
            check_fence(connection, lease)
            sequence = self._records.append_now(connection, EntryKind.ROUND, round_.number)
            connection.execute("INSERT OR REPLACE INTO attribute SELECT * FROM staged_attribute")
            connection.execute("INSERT OR REPLACE INTO held SELECT * FROM staged_held")
            connection.execute("INSERT INTO round VALUES (?, ?, ?, ?, ?, ?, ?, ?)", (
                round_.number, round_.boundary, sequence, round_.changed, round_.touched, round_.edges_opened,
                round_.edges_closed, round_.reached))
            return round_.model_copy(update={"sequence": sequence})

        return await self._database.write(work)

    async def get_attributes(self, names: Sequence[str]) -> Mapping[str, Attribute]:
        return await self._database.read(lambda connection: {
            row[0]: _attribute(row) for row in connection.execute(
                "SELECT a.* FROM json_each(?) e CROSS JOIN attribute a ON a.name = e.value", (dumped(list(names)),))})

    async def all_attributes(self) -> Sequence[Attribute]:
        return await self._database.read(lambda connection: [
            _attribute(row) for row in connection.execute("SELECT * FROM attribute ORDER BY name")])

    async def held_attributes(self, refs: Sequence[int]) -> Mapping[int, Sequence[str]]:
        def work(connection: sqlite3.Connection) -> Mapping[int, Sequence[str]]:
            held = {row[0]: tuple(orjson.loads(row[1])) for row in connection.execute(
                "SELECT h.* FROM json_each(?) e CROSS JOIN held h ON h.ref = e.value", (dumped(list(refs)),))}
            return {ref: held.get(ref, ()) for ref in refs}

        return await self._database.read(work)

    async def edges_of(self, refs: Sequence[int]) -> Mapping[int, Sequence[RoutingEdge]]:
        def work(connection: sqlite3.Connection) -> Mapping[int, Sequence[RoutingEdge]]:
            last = _last(connection)
            edges: dict[int, list[RoutingEdge]] = {ref: [] for ref in refs}
            for row in connection.execute(
                    f"{EDGE} WHERE e.ref IN (SELECT value FROM json_each(?)) AND e.opened <= ?"
                    " AND (e.closed IS NULL OR e.closed > ?) ORDER BY e.score DESC, e.router", (dumped(list(refs)), last, last)):
                edges[row[1]].append(_edge(row))
            return edges

        return await self._database.read(work)

    async def edges_at(self, ref: int, sequence: int) -> Sequence[RoutingEdge]:
        return await self._database.read(lambda connection: [_edge(row) for row in connection.execute(
            f"{EDGE} WHERE e.ref = ? AND o.sequence <= ? AND (c.sequence IS NULL OR c.sequence > ?)"
            " ORDER BY e.score DESC, e.router", (ref, sequence, sequence))])

    async def members_of(self, router: int, limit: int) -> Sequence[RoutingEdge]:
        def work(connection: sqlite3.Connection) -> Sequence[RoutingEdge]:
            last = _last(connection)
            return [_edge(row) for row in connection.execute(
                f"{EDGE} WHERE e.router = ? AND e.opened <= ? AND (e.closed IS NULL OR e.closed > ?)"
                " ORDER BY e.score DESC, e.ref LIMIT ?", (router, last, last, limit))]

        return await self._database.read(work)

    async def waiting_messages(self, refs_after: Mapping[int, int]) -> Mapping[int, Sequence[RouterVersion]]:
        def work(connection: sqlite3.Connection) -> Mapping[int, Sequence[RouterVersion]]:
            last = _last(connection)
            waiting = {ref: _keys_waiting(connection, ref, after, last) for ref, after in refs_after.items()}
            versions = _versions(connection, sorted({key for keys in waiting.values() for key in keys}))
            return {ref: [versions[key] for key in keys] for ref, keys in waiting.items()}

        return await self._database.read(work)

    async def router_versions(self, routers: Sequence[int]) -> Sequence[RouterVersion]:
        def work(connection: sqlite3.Connection) -> Sequence[RouterVersion]:
            keys = connection.execute("SELECT v.router, max(v.version) FROM json_each(?) e CROSS JOIN router_version v"
                                      " ON v.router = e.value WHERE v.round <= ? GROUP BY v.router ORDER BY v.router",
                                      (dumped(list(routers)), _last(connection))).fetchall()
            return list(_versions(connection, keys).values())

        return await self._database.read(work)

    async def router_version(self, router: int, version: int) -> RouterVersion | None:
        return await self._database.read(lambda connection: _versions(connection, [(router, version)]).get((router, version)))

    async def contributions(self, ref: int, limit: int) -> Sequence[RouterVersion]:
        def work(connection: sqlite3.Connection) -> Sequence[RouterVersion]:
            keys = connection.execute(
                "SELECT DISTINCT v.router, v.version, v.round FROM integrated i JOIN router_version v"
                " ON v.router = i.router AND v.version = i.version WHERE i.ref = ? AND v.round <= ?"
                " ORDER BY v.round DESC, v.router LIMIT ?", (ref, _last(connection), limit)).fetchall()
            return list(_versions(connection, [(router, version) for router, version, _ in keys]).values())

        return await self._database.read(work)


def _last(connection: sqlite3.Connection) -> int:
    return int(one(connection, "SELECT coalesce(max(number), 0) FROM round"))


def _keys_waiting(connection: sqlite3.Connection, ref: int, after: int, last: int) -> list[tuple[int, int]]:
    """(router, version), newest round first. A client that merged nothing yet starts with what was current when its
    first edge opened."""
    first = one(connection, "SELECT min(opened) FROM edge WHERE ref = ?", ref) if after == 0 else None
    rows = connection.execute(
        "SELECT router, max(version), max(round) FROM ("
        " SELECT v.router, v.version, v.round FROM edge e JOIN router_version v ON v.router = e.router"
        "  WHERE e.ref = :ref AND v.round > :after AND v.round <= :last AND e.opened <= v.round"
        "  AND (e.closed IS NULL OR e.closed > v.round)"
        " UNION ALL"
        " SELECT v.router, v.version, v.round FROM edge e JOIN router_version v ON v.router = e.router"
        "  WHERE e.ref = :ref AND e.opened = :first AND v.round <= :first AND v.version ="
        "  (SELECT max(w.version) FROM router_version w WHERE w.router = e.router AND w.round <= :first)"
        ") GROUP BY router ORDER BY max(round) DESC, router", {"ref": ref, "after": after, "last": last, "first": first})
    return [(router, version) for router, version, _ in rows]


def _versions(connection: sqlite3.Connection, keys: Sequence[tuple[int, int]]) -> dict[tuple[int, int], RouterVersion]:
    """Whole published versions, in the order of `keys`."""
    found: dict[tuple[int, int], RouterVersion] = {}
    for router, version in keys:
        row = connection.execute(f"{VERSION} WHERE v.router = ? AND v.version = ?", (router, version)).fetchone()
        if row is None:
            continue
        parts = connection.execute("SELECT attribute, ref, profile_version, sequence FROM integrated"
                                   " WHERE router = ? AND version = ?", (router, version))
        found[router, version] = RouterVersion.model_construct(
            router=row[0], version=row[1], round=row[2], epoch=row[3], name=row[4], text=row[5],
            attributes=tuple(orjson.loads(row[6])), standing=tuple((name, weight) for name, weight in orjson.loads(row[7])),
            integrated=tuple(Integrated.model_construct(attribute=a, ref=r, profile_version=p, sequence=s)
                             for a, r, p, s in parts), sequence=row[8])
    return found


def _edge(row: Sequence[object]) -> RoutingEdge:
    names = ("router", "ref", "score", "from_sequence", "until_sequence")
    return RoutingEdge.model_construct(**dict(zip(names, row, strict=True)))  # type: ignore[arg-type]


def _attribute(row: Sequence[object]) -> Attribute:
    return Attribute.model_construct(name=row[0], router=row[1], holders=row[2])  # type: ignore[arg-type]
