"""RoundStore on SQLite: rows carry their round; rounds after the last published are invisible."""

import sqlite3
from collections.abc import Mapping, Sequence
from typing import Any

from propagation.adapters.sqlite.connection.client_ids import Directory
from propagation.adapters.sqlite.connection.database import Database
from propagation.adapters.sqlite.connection.json_rows import dumped, many, one, put
from propagation.adapters.sqlite.connection.leases import check_fence
from propagation.adapters.sqlite.index.outbox import publish_changes
from propagation.adapters.sqlite.record.record import append_entry
from propagation.adapters.sqlite.rounds import edges
from propagation.adapters.sqlite.rounds.messages import (
    brief_versions,
    last_round,
    messages_of,
    newest_versions,
    parts_carrying,
    version_numbers,
    waiting_messages,
    whole_version,
)
from propagation.adapters.sqlite.rounds.messages import contributions as contributed
from propagation.model import (
    Attribute,
    EntryKind,
    IntegratedAttribute,
    LeaseLost,
    Round,
    RouterVersion,
    RoutingEdge,
)
from propagation.ports import Lease

SENDERS_KEPT = 2
STAGING = "staging"
WAITING_ROWS, MESSAGE_ROWS = 32, 4
ATTRIBUTE = "name, router, holders, canonical"
ROUND = "number, boundary, sequence, changed, touched, edges_opened, edges_closed, reached"


class SqliteRounds:
    """Stages by round number, and publishes once."""

    def __init__(self, database: Database, directory: Directory) -> None:
        self._database = database
        self._directory = directory

    async def last_round(self) -> Round | None:
        newest = await self.last_rounds(1)
        return newest[0] if newest else None

    async def last_rounds(self, limit: int) -> Sequence[Round]:
        return await self._database.read(lambda connection: last_rounds(connection, limit), limit)

    async def rounds_after(self, number: int, limit: int) -> Sequence[Round]:
        return await self._database.read(
            lambda connection: [
                _round(row)
                for row in connection.execute(
                    f"SELECT {ROUND} FROM round WHERE number > ? ORDER BY number LIMIT ?",
                    (number, limit),
                ).fetchall()
            ]
        )

    async def messages_of(self, number: int) -> Sequence[RouterVersion]:
        def work(connection: sqlite3.Connection) -> Sequence[RouterVersion]:
            keys = connection.execute(
                "SELECT router, version FROM router_version WHERE round = ?", (number,)
            ).fetchall()
            return sorted(
                brief_versions(connection, keys).values(), key=lambda version: version.router
            )

        return await self._database.read(work)

    async def changed_clients(self, after: int, through: int) -> Sequence[int]:
        return await self._database.read(
            lambda connection: sorted(
                many(
                    connection,
                    (
                        "SELECT json_group_array(DISTINCT ref) FROM profile_version WHERE "
                        "sequence > "
                        "? AND sequence <= ?"
                    ),
                    after,
                    through,
                )
            )
        )

    async def begin_round(self, lease: Lease, boundary: int) -> Round:
        def work(connection: sqlite3.Connection) -> Round:
            check_fence(connection, lease)
            last = last_round(connection)
            discard_unpublished(connection, last)
            connection.execute("INSERT OR REPLACE INTO progress VALUES (?, ?)", (STAGING, last + 1))
            return Round(number=last + 1, boundary=boundary)

        return await self._database.write(work)

    async def stage_attributes(
        self,
        lease: Lease,
        round_: Round,
        attributes: Sequence[Attribute],
        held: Mapping[int, Sequence[str]],
    ) -> None:
        def work(connection: sqlite3.Connection) -> None:
            check_fence(connection, lease)
            put(
                connection,
                "staged_attribute",
                4,
                [(a.name, a.router, a.holders, a.canonical) for a in attributes],
                "INSERT OR REPLACE",
            )
            put(
                connection,
                "staged_held",
                2,
                [(ref, list(names)) for ref, names in held.items()],
                "INSERT OR REPLACE",
            )

        await self._database.write(work)

    async def stage_routers(
        self, lease: Lease, round_: Round, versions: Sequence[RouterVersion]
    ) -> None:
        def work(connection: sqlite3.Connection) -> None:
            check_fence(connection, lease)
            put(
                connection,
                "router_version (router, version, round, epoch, name, text, attributes, "
                "standing, senders,"
                " lone, written_by)",
                11,
                [
                    (
                        v.router,
                        v.version,
                        round_.number,
                        v.epoch,
                        v.name,
                        v.text,
                        v.attributes,
                        v.standing,
                        _senders(v),
                        _lone(v),
                        v.written_by or None,
                    )
                    for v in versions
                ],
            )
            put(
                connection,
                "integrated",
                6,
                [
                    (
                        v.router,
                        v.version,
                        part.attribute,
                        part.ref,
                        part.profile_version,
                        part.sequence,
                    )
                    for v in versions
                    for part in v.integrated
                ],
            )

        await self._database.write(work)

    async def stage_edges(
        self,
        lease: Lease,
        round_: Round,
        closed: Sequence[tuple[int, int]],
        opened: Sequence[RoutingEdge],
    ) -> None:
        def work(connection: sqlite3.Connection) -> None:
            check_fence(connection, lease)
            edges.stage(connection, round_.number, closed, opened)

        await self._database.write(work)

    async def publish_round(self, lease: Lease, round_: Round) -> Round:
        def work(connection: sqlite3.Connection) -> Round:
            check_fence(connection, lease)
            check_next(connection, round_)
            sequence = append_entry(connection, self._directory, EntryKind.ROUND, (), round_.number)
            connection.execute(
                f"INSERT OR REPLACE INTO attribute ({ATTRIBUTE}) SELECT {ATTRIBUTE} FROM "
                "staged_attribute"
            )
            connection.execute("INSERT OR REPLACE INTO held SELECT ref, names FROM staged_held")
            connection.execute("DELETE FROM staged_attribute")
            connection.execute("DELETE FROM staged_held")
            publish_changes(connection, round_.number, self._directory.now())
            published = round_.model_copy(update={"sequence": sequence})
            put_round(connection, published)
            return published

        return await self._database.write(work)

    async def get_attributes(self, names: Sequence[str]) -> Mapping[str, Attribute]:
        return await self._database.read(
            lambda connection: {
                row[0]: _attribute(*row)
                for row in many(
                    connection,
                    "SELECT json_group_array(json_array(a.name, a.router, a.holders, "
                    "a.canonical)) FROM json_each(?) e"
                    " CROSS JOIN attribute a ON a.name = e.value",
                    dumped(list(names)),
                )
            }
        )

    async def all_attributes(self) -> Sequence[Attribute]:
        return await self._database.read(
            lambda connection: [
                _attribute(*row)
                for row in connection.execute(
                    f"SELECT {ATTRIBUTE} FROM attribute ORDER BY name"
                ).fetchall()
            ]
        )

    async def client_attributes(self, refs: Sequence[int]) -> Mapping[int, Sequence[str]]:
        def work(connection: sqlite3.Connection) -> Mapping[int, Sequence[str]]:
            held = {
                ref: tuple(names)
                for ref, names in many(
                    connection,
                    "SELECT json_group_array(json_array(h.ref, json(h.names))) FROM json_each(?) e"
                    " CROSS JOIN held h ON h.ref = e.value",
                    dumped(list(refs)),
                )
            }
            return {ref: held.get(ref, ()) for ref in refs}

        return await self._database.read(work)

    async def holders_of(self, attribute: str, limit: int) -> Sequence[int]:
        return await self._database.read(
            lambda connection: [
                row[0]
                for row in connection.execute(
                    (
                        "SELECT h.ref FROM held h, json_each(h.names) n WHERE n.value = ? ORDER BY "
                        "h.ref LIMIT ?"
                    ),
                    (attribute, limit),
                ).fetchall()
            ]
        )

    async def edges_of(self, refs: Sequence[int]) -> Mapping[int, Sequence[RoutingEdge]]:
        return await self._database.read(lambda connection: edges.of_clients(connection, refs))

    async def members_of(
        self, router: int, limit: int, at: int | None = None
    ) -> Sequence[RoutingEdge]:
        return await self._database.read(
            lambda connection: edges.members(connection, router, limit, at)
        )

    async def edges_to(self, routers: Sequence[int]) -> Sequence[RoutingEdge]:
        return await self._database.read(lambda connection: edges.of_routers(connection, routers))

    async def count_members(
        self, routers: Sequence[int], at: int | None = None
    ) -> Mapping[int, int]:
        return await self._database.read(lambda connection: edges.counted(connection, routers, at))

    async def waiting_messages(
        self, refs_after: Mapping[int, int], through: int | None = None
    ) -> Mapping[int, Sequence[RouterVersion]]:
        return await self._database.read(
            lambda connection: waiting_messages(connection, refs_after, through),
            WAITING_ROWS * len(refs_after),
        )

    async def router_versions(
        self, routers: Sequence[int], at: int | None = None
    ) -> Sequence[RouterVersion]:
        return await self._database.read(
            lambda connection: newest_versions(connection, routers, at)
        )

    async def version_numbers(self, routers: Sequence[int]) -> Mapping[int, int]:
        return await self._database.read(lambda connection: version_numbers(connection, routers))

    async def router_version(self, router: int, version: int) -> RouterVersion | None:
        return await self._database.read(
            lambda connection: whole_version(connection, router, version)
        )

    async def messages(
        self, keys: Sequence[tuple[int, int]], senders: int
    ) -> Mapping[tuple[int, int], RouterVersion]:
        return await self._database.read(
            lambda connection: messages_of(connection, keys, senders), MESSAGE_ROWS * len(keys)
        )

    async def parts_carrying(
        self, keys: Sequence[tuple[int, int]], attributes: Sequence[str], but: int
    ) -> Mapping[tuple[int, int], Sequence[IntegratedAttribute]]:
        return await self._database.read(
            lambda connection: parts_carrying(connection, keys, attributes, but)
        )

    async def contributions(self, ref: int, limit: int) -> Sequence[RouterVersion]:
        return await self._database.read(lambda connection: contributed(connection, ref, limit))


def last_rounds(connection: sqlite3.Connection, limit: int) -> list[Round]:
    """Return the newest published rounds, oldest first."""
    rows = connection.execute(
        f"SELECT {ROUND} FROM round ORDER BY number DESC LIMIT ?", (limit,)
    ).fetchall()
    return [_round(row) for row in reversed(rows)]


def check_next(connection: sqlite3.Connection, round_: Round) -> None:
    """Check that no other round was published since this one began.

    Raises:
        LeaseLost: Another one was.
    """
    if round_.number != last_round(connection) + 1:
        raise LeaseLost(f"round {round_.number} was published before, or discarded")


def put_round(connection: sqlite3.Connection, published: Round) -> None:
    """Publish a round: all that was staged for it becomes visible."""
    put(
        connection,
        f"round ({ROUND})",
        8,
        [[getattr(published, name) for name in ROUND.split(", ")]],
    )
    connection.execute("DELETE FROM progress WHERE name = ?", (STAGING,))


def discard_unpublished(
    connection: sqlite3.Connection, last: int, *, everywhere: bool = False
) -> None:
    """Discard what an unfinished round left behind.

    Args:
        everywhere: Search the routing table even if no round was begun; it has no index of rounds.
    """
    connection.execute("DELETE FROM staged_attribute")
    connection.execute("DELETE FROM staged_held")
    connection.execute("DELETE FROM staged_outbox")
    connection.execute(
        "DELETE FROM integrated WHERE (router, version) IN"
        " (SELECT router, version FROM router_version WHERE round > ?)",
        (last,),
    )
    connection.execute("DELETE FROM router_version WHERE round > ?", (last,))
    if (
        everywhere
        or one(connection, "SELECT value FROM progress WHERE name = ?", STAGING) is not None
    ):
        edges.discard(connection, last)
    connection.execute("DELETE FROM progress WHERE name = ?", (STAGING,))


def _round(row: Sequence[Any]) -> Round:
    """Return the round of a row of ROUND."""
    return Round.model_construct(**dict(zip(ROUND.split(", "), row, strict=True)))


def _senders(version: RouterVersion) -> list[tuple[str, int, int, int]]:
    """Return the first part of each of at most two senders."""
    first: dict[int, tuple[str, int, int, int]] = {}
    for part in version.integrated:
        if part.ref not in first and len(first) < SENDERS_KEPT:
            first[part.ref] = (part.attribute, part.ref, part.profile_version, part.sequence)
    return list(first.values())


def _lone(version: RouterVersion) -> int | None:
    """Return the only client that the message comes from."""
    return next(iter(version.senders)) if len(version.senders) == 1 else None


def _attribute(name: str, router: int | None, holders: int, canonical: str | None) -> Attribute:
    return Attribute.model_construct(name=name, router=router, holders=holders, canonical=canonical)
