"""RetentionStore on SQLite: drop what ended before a sequence and is uncited.

A run is many small reads and commits, none of which relies on the snapshot of another: what has
ended never starts again, and a client that comes to cite a message has merged it, which the commit
that drops it checks. A text goes when it has ended and no message holds a part of it. So a run
looks at what ended since the last run, and at what a dropped message held.
"""

import sqlite3
from collections.abc import AsyncGenerator, Sequence

from propagation.adapters.sqlite.connection import (
    SqlitePart,
    one,
    progress_of,
    raise_progress,
    reads,
    to_json,
    writes,
)
from propagation.adapters.sqlite.reason.claims import REASONED
from propagation.adapters.sqlite.reason.text_bodies import cited_messages
from propagation.adapters.sqlite.rounds.messages import last_round
from propagation.graph_rules.retention import (
    MessageState,
    may_drop_edge,
    may_drop_merges,
    may_drop_message,
    may_drop_text,
)

Row = tuple[int, ...]
CLIENTS_A_READ, TEXTS_A_READ, MESSAGES_A_READ = 500, 2_000, 500
FIRST = (-1 << 63, 0)
OLDEST_KEPT = "oldest_kept"
# The texts of now, and those that stood at the oldest sequence that is kept: what else stood since
# cites these or what was merged since.
CLIENTS = "SELECT ref FROM client WHERE ref > ? ORDER BY ref LIMIT ?"
STOOD = (
    "SELECT v.body FROM json_each(?1) e CROSS JOIN profile_version v ON v.ref = e.value AND "
    "v.version IN ("
    "(SELECT max(version) FROM profile_version WHERE ref = e.value),"
    " (SELECT version FROM profile_version WHERE ref = e.value AND sequence <= ?2 ORDER BY "
    "version DESC LIMIT 1))"
)
# A version's life ends where the next one begins, an edge's where it is closed, a message's where
# its router's next is sent; that next one may have gone already, but not without another behind it.
WINDOW = (
    "SELECT max(sequence) FROM (SELECT sequence FROM profile_version WHERE sequence > ? AND "
    "sequence <= ? ORDER BY 1 LIMIT ?)"
)
TEXTS = (
    "SELECT v.ref, v.version FROM profile_version n INDEXED BY profile_version_sequence CROSS "
    "JOIN profile_version v"
    " ON v.ref = n.ref AND v.version = (SELECT max(version) FROM profile_version WHERE ref = "
    "n.ref AND version < n.version)"
    " WHERE n.sequence > ? AND n.sequence <= ?"
)
TEXT_STATES = (
    "SELECT v.ref, v.version,"
    " (SELECT n.sequence FROM profile_version n WHERE n.ref = v.ref AND n.version > v.version"
    " ORDER BY n.version LIMIT 1),"
    " EXISTS (SELECT 1 FROM integrated i WHERE i.ref = v.ref AND i.profile_version = v.version)"
    " FROM json_each(?) e CROSS JOIN profile_version v"
    " ON v.ref = e.value->>0 AND v.version = e.value->>1"
)
EDGES = (
    "SELECT e.ref, e.router,"
    " NOT EXISTS (SELECT 1 FROM edge f WHERE f.ref = e.ref AND f.opened < e.opened)"
    " AND NOT EXISTS (SELECT 1 FROM edge_past f WHERE f.ref = e.ref AND f.opened < e.opened)"
    " FROM edge_past e INDEXED BY edge_past_closed WHERE e.closed = ?"
)
DROP_EDGES = (
    "DELETE FROM edge_past WHERE rowid IN (SELECT p.rowid FROM json_each(?) e CROSS JOIN "
    "edge_past p"
    " INDEXED BY edge_past_ref ON p.ref = e.value->>0 AND p.closed = ? AND p.router = e.value->>1)"
)
# A message's row goes first, so that nobody merges what is half there; what is left of one whose
# row is gone is found by itself.
KEYS = (
    "SELECT * FROM (SELECT * FROM (SELECT router, version FROM router_version WHERE (router, "
    "version) > (?1, ?2)"
    " ORDER BY 1, 2 LIMIT 1) UNION ALL SELECT * FROM (SELECT router, version FROM integrated "
    "WHERE (router, version) > (?1, ?2)"
    " ORDER BY 1, 2 LIMIT 1) UNION ALL SELECT * FROM (SELECT router, router_version FROM merged"
    " WHERE (router, router_version) > (?1, ?2) ORDER BY 1, 2 LIMIT 1)) ORDER BY 1, 2 LIMIT 1"
)
STANDS = "EXISTS (SELECT 1 FROM router_version WHERE router = ?1 AND version = ?2)"
PASSED = (
    "DELETE FROM gradient WHERE rowid IN (SELECT rowid FROM gradient INDEXED BY "
    "gradient_sequence WHERE sequence <= ?"
    " LIMIT ?)",
    "DELETE FROM reasoned WHERE sequence IN (SELECT sequence FROM reasoned WHERE sequence <="
    " min(?, (SELECT value FROM progress WHERE name = 'reasoned')) ORDER BY sequence LIMIT ?)",
)


class SqliteRetention(SqlitePart):
    """Runs one retention at a time.

    A run that was given up starts again.
    """

    _run: AsyncGenerator[int] | None = None
    _before = _limit = 0

    async def prune(self, before: int, limit: int) -> int | None:
        run = self._run if self._before == before else None
        self._run, self._before, self._limit = None, before, limit
        run = run or self._steps(before)
        dropped = await anext(run, None)
        if dropped is not None:
            self._run = run
        return dropped

    async def oldest_kept(self) -> int:
        return await self._read_progress(OLDEST_KEPT)

    async def _steps(self, before: int) -> AsyncGenerator[int]:
        await self._mark(OLDEST_KEPT, before)
        for stage in (self._texts, self._edges, self._drop_passed, self._messages):
            async for dropped in stage(before):
                yield dropped

    async def _texts(self, before: int) -> AsyncGenerator[int]:
        """Drop texts that ended since the last run.

        Nothing is written any more at a reasoned sequence.
        """
        through = await self._read_progress("texts_pruned")
        end = min(before, await self._read_progress(REASONED))
        while through < end:
            through, keys = await self._ended_texts(through, end, before)
            yield 0
            while keys:
                yield await self._drop_texts(self._take(keys), before)
        await self._mark("texts_pruned", end)

    async def _edges(self, before: int) -> AsyncGenerator[int]:
        """Drop edges that ended since the last run.

        A client's first edges stay.
        """
        through = await self._read_progress("edges_pruned")
        end = await self._database.read(lambda connection: last_round(connection, before))
        for round_ in range(through + 1, end + 1):
            keys: list[Row] = [
                (ref, router)
                for ref, router, is_first in await self._rows(EDGES, round_)
                if may_drop_edge(round_, bool(is_first), end)
            ]
            yield 0
            while keys:
                yield await self._drop(DROP_EDGES, keys, round_)
        await self._mark("edges_pruned", end)

    async def _drop_passed(self, before: int) -> AsyncGenerator[int]:
        for statement in PASSED:
            while dropped := await self._delete(statement, before, self._limit):
                yield dropped

    async def _messages(self, before: int) -> AsyncGenerator[int]:
        """Drop messages with their parts, and texts that no message holds then.

        Of other messages the merges may go.
        """
        cited, ref = set[Row](), -1
        while refs := await self._rows(CLIENTS, ref, CLIENTS_A_READ):
            cited |= await self._cited_messages(refs, before)
            ref = refs[-1][0]
            yield 0
        key: Row = FIRST
        while keys := await self._keys(key):
            for key in keys:
                async for dropped in self._message(key, key in cited, before):
                    yield dropped

    async def _message(self, key: Row, is_cited: bool, before: int) -> AsyncGenerator[int]:
        """Drop a message, or its merges alone, if they may go."""
        stands, state = await self._database.read(
            lambda connection: _message_state(connection, key, is_cited)
        )
        yield 0
        if not may_drop_merges(state, before):
            return
        merges = await self._rows(
            "SELECT number FROM merged WHERE router = ? AND router_version = ?", *key
        )
        while merges:
            yield await self._drop(
                "DELETE FROM merged WHERE number IN (SELECT value->>0 FROM json_each(?))", merges
            )
        if may_drop_message(state, before) or not stands:
            yield await self._drop_message(key, is_cited, before)
            while dropped := await self._drop_parts(key, before):
                yield dropped

    @reads
    def _rows(self, connection: sqlite3.Connection, statement: str, *parameters: int) -> list[Row]:
        return connection.execute(statement, parameters).fetchall()

    @reads
    def _ended_texts(
        self, connection: sqlite3.Connection, after: int, end: int, before: int
    ) -> tuple[int, list[Row]]:
        """Return how far was searched, and the texts that may go."""
        through = one(connection, WINDOW, after, end, TEXTS_A_READ) or end
        replaced = connection.execute(TEXTS, (after, through)).fetchall()
        return through, _droppable_texts(connection, replaced, before)

    @writes
    def _drop_texts(self, connection: sqlite3.Connection, texts: list[Row], before: int) -> int:
        return drop_texts(connection, texts, before)

    @reads
    def _cited_messages(
        self, connection: sqlite3.Connection, refs: Sequence[Row], before: int
    ) -> set[Row]:
        """Return the messages that texts of these clients cite."""
        asked = to_json([ref for (ref,) in refs])
        return {
            key
            for (body,) in connection.execute(STOOD, (asked, before))
            for key in cited_messages(body)
        }

    @reads
    def _keys(self, connection: sqlite3.Connection, after: Row) -> list[Row]:
        """Return the next messages, or what is left of some."""
        found, key = list[Row](), after
        while (
            len(found) < MESSAGES_A_READ
            and (row := connection.execute(KEYS, key).fetchone()) is not None
        ):
            found.append(key := row)
        return found

    @writes
    def _drop_message(
        self, connection: sqlite3.Connection, key: Row, is_cited: bool, before: int
    ) -> int:
        """Drop the row of a message, unless it was merged meanwhile."""
        _, state = _message_state(connection, key, is_cited)
        if not may_drop_message(state, before):
            return 0
        return connection.execute(
            "DELETE FROM router_version WHERE router = ? AND version = ?", key
        ).rowcount

    @writes
    def _delete(
        self, connection: sqlite3.Connection, statement: str, *parameters: str | int
    ) -> int:
        """Run a statement; return how many rows it dropped."""
        return connection.execute(statement, parameters).rowcount

    async def _drop(self, statement: str, keys: list[Row], *more: int) -> int:
        return await self._delete(statement, to_json(self._take(keys)), *more)

    def _take(self, keys: list[Row]) -> list[Row]:
        """Take at most `_limit` keys out of the list, from its end."""
        taken = keys[-self._limit :]
        del keys[-self._limit :]
        return taken

    @writes
    def _drop_parts(self, connection: sqlite3.Connection, key: Row, before: int) -> int:
        """Drop about a step's parts of a message.

        Texts that no other message holds go with them.

        Returns:
            How many rows were dropped.
        """
        parts = connection.execute(
            "SELECT rowid, ref, profile_version FROM integrated WHERE router = ?1 AND version = ?2 "
            f"AND NOT {STANDS} LIMIT ?3",
            (*key, max(self._limit // 2, 1)),
        ).fetchall()
        connection.execute(
            "DELETE FROM integrated WHERE rowid IN (SELECT value FROM json_each(?))",
            (to_json([row for row, _, _ in parts]),),
        )
        return len(parts) + drop_texts(connection, [text for _, *text in parts], before)

    @reads
    def _read_progress(self, connection: sqlite3.Connection, name: str) -> int:
        return progress_of(connection, name)

    @writes
    def _mark(self, connection: sqlite3.Connection, name: str, value: int) -> None:
        raise_progress(connection, name, value)


def _message_state(
    connection: sqlite3.Connection, key: Row, is_cited: bool
) -> tuple[bool, MessageState]:
    """Return the facts about a message.

    Returns:
        Whether its row is still there, and the facts.
    """
    stands, merged_at, replaced_at = connection.execute(
        f"SELECT {STANDS},"
        " (SELECT max(sequence) FROM merged WHERE router = ?1 AND router_version = ?2),"
        " (SELECT r.sequence FROM router_version n CROSS JOIN round r ON r.number = n.round"
        " WHERE n.router = ?1 AND n.version > ?2 ORDER BY n.version LIMIT 1)",
        key,
    ).fetchone()
    return bool(stands), MessageState(is_cited, merged_at, replaced_at)


def _droppable_texts(
    connection: sqlite3.Connection, texts: Sequence[Sequence[int]], before: int
) -> list[Row]:
    return [
        (ref, version)
        for ref, version, replaced_at, is_held in connection.execute(TEXT_STATES, (to_json(texts),))
        if may_drop_text(replaced_at, bool(is_held), before)
    ]


def drop_texts(connection: sqlite3.Connection, texts: Sequence[Sequence[int]], before: int) -> int:
    """Drop those of these texts that may go.

    Returns:
        How many were dropped.
    """
    droppable = _droppable_texts(connection, texts, before)
    return connection.execute(
        "DELETE FROM profile_version WHERE rowid IN (SELECT v.rowid FROM json_each(?) e CROSS JOIN "
        "profile_version v ON v.ref = e.value->>0 AND v.version = e.value->>1)",
        (to_json(droppable),),
    ).rowcount
