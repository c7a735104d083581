"""RoundStore on SQLite: each row has the number of its round.

Rows of rounds after the last published one are invisible.
"""

import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import astuple

from propagation.adapters.sqlite.connection import (
    put,
    read_many,
    read_progress,
    reads,
    set_progress,
    to_json,
    writes_under_lease,
)
from propagation.adapters.sqlite.index.outbox import publish_changes
from propagation.adapters.sqlite.record.log import append_entry
from propagation.adapters.sqlite.rounds.edges import SqliteEdges, discard_edges
from propagation.adapters.sqlite.rounds.messages import SqliteMessages, find_last_round
from propagation.graph_rules import check_round_follows
from propagation.model import Attribute, EntryKind, Round, RouterVersion
from propagation.ports import POSTPONED_ARRIVALS

STAGING = "staging"
ATTRIBUTE = ", ".join(Attribute.model_fields)
ROUND = ", ".join(Round.model_fields)


class SqliteRounds(SqliteEdges, SqliteMessages):
    """Stages the rows of a round, and publishes them at once."""

    async def get_last_rounds(self, limit: int) -> Sequence[Round]:
        return await self._database.read(
            lambda connection: get_last_rounds(connection, limit), limit
        )

    @reads
    def get_rounds_after(
        self, connection: sqlite3.Connection, number: int, limit: int
    ) -> Sequence[Round]:
        return [
            Round.from_row(row)
            for row in connection.execute(
                f"SELECT {ROUND} FROM round WHERE number > ? ORDER BY number LIMIT ?",
                (number, limit),
            )
        ]

    @reads
    def find_changed_clients(
        self, connection: sqlite3.Connection, after: int, through: int
    ) -> Sequence[int]:
        return sorted(
            read_many(
                connection,
                "SELECT json_group_array(DISTINCT ref) FROM profile_version WHERE sequence > "
                "? AND sequence <= ?",
                after,
                through,
            )
        )

    @writes_under_lease
    def begin_round(self, connection: sqlite3.Connection, boundary: int) -> Round:
        last = find_last_round(connection)
        discard_unpublished(connection, last)
        set_progress(connection, STAGING, last + 1)
        return Round(number=last + 1, boundary=boundary)

    @writes_under_lease
    def stage_attributes(
        self,
        connection: sqlite3.Connection,
        round_: Round,
        attributes: Sequence[Attribute],
        held: Mapping[int, Sequence[str]],
    ) -> None:
        put(
            connection,
            "staged_attribute",
            5,
            [(a.name, a.router, a.holders, a.users, a.canonical) for a in attributes],
            "INSERT OR REPLACE",
        )
        put(
            connection,
            "staged_held",
            2,
            [(ref, list(names)) for ref, names in held.items()],
            "INSERT OR REPLACE",
        )

    @writes_under_lease
    def stage_routers(
        self,
        connection: sqlite3.Connection,
        round_: Round,
        versions: Sequence[RouterVersion],
    ) -> None:
        put(
            connection,
            "router_version (router, version, round, epoch, name, text, attributes, "
            "standing, senders, lone, written_by)",
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
                    [astuple(part) for part in v.first_parts],
                    v.lone_sender,
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
                (v.router, v.version, part.attribute, part.ref, part.profile_version, part.sequence)
                for v in versions
                for part in v.integrated
            ],
        )

    @writes_under_lease
    def publish_round(
        self,
        connection: sqlite3.Connection,
        round_: Round,
        postponed: bytes | None = None,
    ) -> Round:
        sequence = append_entry(connection, self._directory, EntryKind.ROUND, (), round_.number)
        connection.execute(
            f"INSERT OR REPLACE INTO attribute ({ATTRIBUTE}) SELECT {ATTRIBUTE} FROM "
            "staged_attribute"
        )
        connection.execute("INSERT OR REPLACE INTO held SELECT ref, names FROM staged_held")
        connection.execute("DELETE FROM staged_attribute")
        connection.execute("DELETE FROM staged_held")
        if postponed is not None:
            connection.execute(
                "INSERT OR REPLACE INTO meta VALUES (?, ?)", (POSTPONED_ARRIVALS, postponed)
            )
        return publish(connection, round_, sequence, self._directory.now())

    @reads
    def get_attributes(
        self, connection: sqlite3.Connection, names: Sequence[str]
    ) -> Mapping[str, Attribute]:
        return {
            row[0]: Attribute.from_row(row)
            for row in read_many(
                connection,
                "SELECT json_group_array(json_array(a.name, a.router, a.holders, "
                "a.users, a.canonical)) FROM json_each(?) e"
                " CROSS JOIN attribute a ON a.name = e.value",
                to_json(list(names)),
            )
        }

    @reads
    def get_all_attributes(self, connection: sqlite3.Connection) -> Sequence[Attribute]:
        return [
            Attribute.from_row(row)
            for row in connection.execute(f"SELECT {ATTRIBUTE} FROM attribute ORDER BY name")
        ]

    @reads
    def get_client_attributes(
        self, connection: sqlite3.Connection, refs: Sequence[int]
    ) -> Mapping[int, Sequence[str]]:
        held = {
            ref: tuple(names)
            for ref, names in read_many(
                connection,
                "SELECT json_group_array(json_array(h.ref, json(h.names))) FROM json_each(?) e"
                " CROSS JOIN held h ON h.ref = e.value",
                to_json(list(refs)),
            )
        }
        return {ref: held.get(ref, ()) for ref in refs}

    @reads
    def get_holders(
        self, connection: sqlite3.Connection, attributes: Sequence[str], limit: int
    ) -> Mapping[str, Sequence[int]]:
        found = read_many(
            connection,
            "SELECT json_group_array(json_array(name, json(refs))) FROM (SELECT name,"
            " json_group_array(ref) AS refs FROM (SELECT n.value AS name, h.ref, row_number() OVER"
            " (PARTITION BY n.value ORDER BY h.ref) AS place FROM held h, json_each(h.names) n"
            " WHERE n.value IN (SELECT value FROM json_each(?))) WHERE place <= ? GROUP BY name)",
            to_json(list(attributes)),
            limit,
        )
        return {name: sorted(refs) for name, refs in found}


def get_last_rounds(connection: sqlite3.Connection, limit: int) -> list[Round]:
    """Return at most `limit` of the newest published rounds, oldest first."""
    return [
        Round.from_row(row)
        for row in connection.execute(
            "SELECT * FROM"
            f" (SELECT {ROUND} FROM round ORDER BY number DESC LIMIT ?) ORDER BY number",
            (limit,),
        )
    ]


def publish(connection: sqlite3.Connection, round_: Round, sequence: int, at: int) -> Round:
    """Publish a round at a log entry.

    All rows that were staged for the round become visible.

    Args:
        at: Commit time in milliseconds since 1970.

    Raises:
        LeaseLost: Another round was published since this one began.
    """
    check_round_follows(round_.number, find_last_round(connection))
    published = round_.model_copy(update={"sequence": sequence})
    put(
        connection,
        f"round ({ROUND})",
        8,
        [tuple(published.model_dump().values())],
    )
    publish_changes(connection, round_.number, at)
    connection.execute("DELETE FROM progress WHERE name = ?", (STAGING,))
    return published


def discard_unpublished(
    connection: sqlite3.Connection, last: int, *, everywhere: bool = False
) -> None:
    """Discard the staged rows of an unfinished round.

    Args:
        last: Number of the last published round.
        everywhere: Search the routing table even if no round was begun. This is slow, because the
            table has no index of rounds.
    """
    for table in ("staged_attribute", "staged_held", "staged_outbox"):
        connection.execute(f"DELETE FROM {table}")
    connection.execute(
        "DELETE FROM integrated WHERE (router, version) IN"
        " (SELECT router, version FROM router_version WHERE round > ?)",
        (last,),
    )
    connection.execute("DELETE FROM router_version WHERE round > ?", (last,))
    if everywhere or read_progress(connection, STAGING):
        discard_edges(connection, last)
    connection.execute("DELETE FROM progress WHERE name = ?", (STAGING,))
