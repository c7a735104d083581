"""ReasonStore on SQLite."""

import sqlite3
from collections.abc import Mapping, Sequence

import orjson

from propagation.adapters.shared.reason_rows import (
    build_failed_reasoning,
    build_fate,
    build_gradient,
    build_interaction,
)
from propagation.adapters.shared.upper_bounds import get_bound
from propagation.adapters.sqlite.connection import LAST_WITHDRAWAL, read_progress, reads, to_json
from propagation.adapters.sqlite.reason.claims import SqliteClaims, read_reasoned_through
from propagation.adapters.sqlite.reason.reasoned_rows import (
    GRADIENT,
    MERGED,
    build_merged_rows,
    put_merged,
)
from propagation.adapters.sqlite.reason.texts import (
    SqliteTexts,
    build_text_rows,
    pack_bodies,
    put_texts,
)
from propagation.graph_rules import check_no_withdrawal
from propagation.model import (
    ClientText,
    DeadLetter,
    FailedReasoning,
    Gradient,
    InteractionRow,
    MessageFate,
    MessageMerge,
    MessageReach,
    Module,
    NumberedMerge,
    ReasoningBacklog,
    derive_seed,
)

REACH = (
    "SELECT router, count(DISTINCT CASE WHEN outcome = 'merged' THEN ref END), sum(outcome ="
    " 'merged'), sum(outcome = 'filtered'), sum(outcome = 'empty'), sum(outcome = 'fell out') FROM"
    " merged NOT INDEXED WHERE number > (SELECT value FROM progress WHERE name = 'merged') - ?"
    " GROUP BY router ORDER BY router"
)
FATES = (
    "SELECT router_version, sum(outcome = 'merged'), sum(outcome = 'filtered'), sum(outcome ="
    " 'empty'), sum(outcome = 'fell out'), sum(outcome NOT IN ('merged', 'filtered', 'empty',"
    " 'fell out')) FROM json_each(?2) e CROSS JOIN merged INDEXED BY merged_message ON router = ?1"
    " AND router_version = e.value GROUP BY router_version"
)
WHO_MERGED = (
    "SELECT DISTINCT ref FROM merged INDEXED BY merged_message WHERE router = ? AND"
    " router_version = ? AND outcome = 'merged' ORDER BY ref LIMIT ?"
)
OF_REASONED = "(SELECT r.{0} FROM reasoned r WHERE r.sequence = interaction.sequence)"
ROW = (
    f"sequence, event_id, user, item, negative, time, weight, {OF_REASONED.format('prompts')} AS"
    f" prompts, {OF_REASONED.format('fallback')} AS fallback"
)


class SqliteReason(SqliteClaims, SqliteTexts):
    """Reads the results of reasoning, and commits texts outside interactions."""

    async def commit_texts(
        self,
        texts: Sequence[ClientText],
        merged: Sequence[MessageMerge],
        sequence: int,
        after_withdrawal: int | None = None,
        written_by: str = "",
    ) -> None:
        rows = build_text_rows([(text, sequence) for text in texts], await pack_bodies(texts))
        merges = build_merged_rows([(merge, sequence) for merge in merged])

        def work(connection: sqlite3.Connection) -> None:
            check_no_withdrawal(texts, after_withdrawal, read_progress(connection, LAST_WITHDRAWAL))
            put_texts(connection, rows, self._directory.now(), written_by)
            put_merged(connection, merges)

        await self._database.write(work)

    async def get_reasoned_through(self) -> int:
        return await self._database.read(read_reasoned_through)

    @reads
    def count_backlog(self, connection: sqlite3.Connection) -> ReasoningBacklog:
        through = read_reasoned_through(connection)
        above, done = connection.execute(
            "SELECT (SELECT count(*) FROM interaction WHERE sequence > ?1),"
            " (SELECT count(*) FROM reasoned WHERE sequence > ?1)",
            (through,),
        ).fetchone()
        return ReasoningBacklog(pending=above - done, done_above=done)

    async def get_interactions(self, sequences: Sequence[int]) -> Sequence[InteractionRow]:
        return await self._database.read(
            lambda connection: read_interactions(connection, sequences), len(sequences)
        )

    @reads
    def get_merges_of_message(
        self, connection: sqlite3.Connection, router: int, version: int, limit: int
    ) -> Sequence[MessageMerge]:
        return [
            MessageMerge(*row)
            for row in connection.execute(
                f"SELECT {MERGED} FROM merged WHERE router = ? AND router_version = ? "
                "ORDER BY ref, profile_version LIMIT ?",
                (router, version, limit),
            )
        ]

    @reads
    def get_message_fates(
        self, connection: sqlite3.Connection, router: int, versions: Sequence[int], clients: int
    ) -> Mapping[int, MessageFate]:
        rows = connection.execute(FATES, (router, to_json(sorted(set(versions))))).fetchall()
        return {
            version: build_fate(
                counts,
                [ref for (ref,) in connection.execute(WHO_MERGED, (router, version, clients))],
            )
            for version, *counts in rows
        }

    @reads
    def count_message_reach(
        self, connection: sqlite3.Connection, newest: int
    ) -> Sequence[MessageReach]:
        return [MessageReach.from_row(row) for row in connection.execute(REACH, (newest,))]

    @reads
    def get_merges_through(self, connection: sqlite3.Connection) -> int:
        return read_progress(connection, "merged")

    @reads
    def get_merges_after(
        self, connection: sqlite3.Connection, number: int, through: int, limit: int
    ) -> Sequence[NumberedMerge]:
        return [
            NumberedMerge(number=place, sequence=sequence, merge=MessageMerge(*merge))
            for place, sequence, *merge in connection.execute(
                f"SELECT number, sequence, {MERGED} FROM merged WHERE number > ? AND "
                "number <= ? ORDER BY number LIMIT ?",
                (number, through, limit),
            )
        ]

    @reads
    def get_gradients(
        self,
        connection: sqlite3.Connection,
        module: Module,
        owner: int | None,
        after: int,
        limit: int,
    ) -> Sequence[Gradient]:
        # Without an owner, use the index of sequences: with the index of owners SQLite would sort
        # all gradients of the module at each call.
        index, which, parameters = (
            ("gradient_owner", "owner = ? AND", (owner,))
            if owner is not None
            else ("gradient_sequence", "", ())
        )
        return [
            build_gradient((*row[:6], orjson.loads(row[6]), row[7]))
            for row in connection.execute(
                f"SELECT {GRADIENT} FROM gradient INDEXED BY {index} WHERE module = ? AND "
                f"{which} sequence > ?"
                " ORDER BY sequence, owner, text LIMIT ?",
                (module, *parameters, after, limit),
            )
        ]

    @reads
    def get_dead_letters(self, connection: sqlite3.Connection, limit: int) -> Sequence[DeadLetter]:
        return [
            DeadLetter(*row)
            for row in connection.execute(
                "SELECT sequence, reason FROM dead_letter ORDER BY sequence LIMIT ?", (limit,)
            )
        ]

    @reads
    def has_queued_dead_letters(self, connection: sqlite3.Connection) -> bool:
        return bool(
            connection.execute("SELECT EXISTS (SELECT 1 FROM dead_letter WHERE queued)").fetchone()[
                0
            ]
        )

    @reads
    def get_failed_reasoning(
        self, connection: sqlite3.Connection, limit: int, before: int | None = None
    ) -> Sequence[FailedReasoning]:
        return [
            build_failed_reasoning(row)
            for row in connection.execute(
                "SELECT sequence, reason, attempts, failed_at, asked, answered, queued FROM"
                " dead_letter WHERE sequence < ? ORDER BY sequence DESC LIMIT ?",
                (get_bound(before), limit),
            )
        ]


def read_interactions(
    connection: sqlite3.Connection, sequences: Sequence[int]
) -> list[InteractionRow]:
    """Return interactions in the order of `sequences`; unknown ones are left out."""
    return read_interactions_where(
        connection,
        "json_each(?) e CROSS JOIN interaction ON sequence = e.value ORDER BY e.key",
        to_json(list(sequences)),
    )


def read_interactions_where(
    connection: sqlite3.Connection, which: str, *parameters: object
) -> list[InteractionRow]:
    """Return the interactions that a query finds.

    Args:
        which: The SQL after FROM, of a query that selects ROW.
        parameters: The query's parameters.
    """
    return [
        build_interaction((*row[:7], orjson.loads(row[7] or "[]"), row[8]))
        for row in connection.execute(f"SELECT {ROW} FROM {which}", parameters)
    ]


def read_event(connection: sqlite3.Connection, event_id: str) -> InteractionRow | None:
    """Return the interaction of a recorded event; None if there is none."""
    found = read_interactions_where(
        connection,
        "interaction WHERE seed = ? AND event_id = ?",
        derive_seed(event_id),
        event_id,
    )
    return found[0] if found else None
