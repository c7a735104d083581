"""RetentionStore on SQLite: drops uncited rows that ended before a sequence.

A run consists of many small reads and commits. They need no common snapshot: a row that has ended
never becomes current again, and a client that newly cites a message has merged it, which the commit
that drops the message checks.

A text is dropped when it has ended and no message holds a part of it. So a run looks at the rows
that ended since the last run, and at the texts whose parts a dropped message held. The first run of
a process looks at all clients and messages, because it has to count the citations, and because a
run that was cut short may have left parts of messages.
"""

import sqlite3
from collections import Counter
from collections.abc import AsyncGenerator, Sequence
from functools import partial

from propagation.adapters.sqlite.connection import (
    LAST_WITHDRAWAL,
    SqlitePart,
    raise_progress,
    read_one,
    read_progress,
    reads,
    to_json,
    writes,
)
from propagation.adapters.sqlite.forget.retained_messages import (
    CHANGED,
    FIRST,
    MESSAGES_A_READ,
    PARTS,
    CitationCounts,
    Row,
    count_again,
    drop_texts,
    find_droppable_texts,
    find_replaced_messages,
    read_message_keys,
    read_message_states,
)
from propagation.adapters.sqlite.reason.claims import REASONED
from propagation.adapters.sqlite.reason.texts import get_texts_through
from propagation.adapters.sqlite.rounds.messages import find_last_round
from propagation.graph_rules import MessageState, may_drop_edge, may_drop_merges, may_drop_message
from propagation.grouping import split_into_batches

CLIENTS_A_READ, TEXTS_A_READ = 500, 2_000
OLDEST_KEPT = "oldest_kept"
# The life of a text version ends where the next one begins, that of an edge where it is closed, and
# that of a message where its router sends the next one. The next one may have been dropped already,
# but then there is a later one.
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
PASSED = (
    "DELETE FROM gradient WHERE rowid IN (SELECT rowid FROM gradient INDEXED BY "
    "gradient_sequence WHERE sequence <= ?"
    " LIMIT ?)",
    # Rows with `late` stay: only they tell the sequence of a replayed dead letter's texts.
    "DELETE FROM reasoned WHERE sequence IN (SELECT sequence FROM reasoned WHERE sequence <="
    " min(?, (SELECT value FROM progress WHERE name = 'reasoned')) AND late IS NULL"
    " ORDER BY sequence LIMIT ?)",
)


class SqliteRetention(SqlitePart):
    """Runs one retention at a time, a step for each call.

    A run that failed, or whose arguments change, starts again.
    """

    _run: AsyncGenerator[int] | None = None
    _before = _limit = 0
    _citations = CitationCounts()

    async def prune(self, before: int, limit: int) -> int | None:
        run = self._run if (self._before, self._limit) == (before, limit) else None
        self._run = None
        self._before, self._limit = before, limit
        run = run or self._run_steps(before)
        dropped = await anext(run, None)
        if dropped is not None:
            self._run = run
        return dropped

    async def get_oldest_kept(self) -> int:
        return await self._read_progress(OLDEST_KEPT)

    async def _run_steps(self, before: int) -> AsyncGenerator[int]:
        await self._mark(OLDEST_KEPT, before)
        read = self._database.read
        withdrawal = await self._read_progress(LAST_WITHDRAWAL)
        last, self._citations = self._citations, CitationCounts()
        if last.at > before or last.withdrawal != withdrawal:
            last = CitationCounts()
        committed = await read(get_texts_through)
        now = CitationCounts(before, committed, withdrawal, Counter(last.clients))
        changed = set(
            await read(lambda connection: find_replaced_messages(connection, last.at, before))
        )
        refs = await (
            self._read_rows(CHANGED, last.at, before, last.committed)
            if last.committed
            else self._read_rows("SELECT ref FROM client")
        )
        for start in range(0, len(refs), CLIENTS_A_READ):
            batch = refs[start : start + CLIENTS_A_READ]
            changed |= await read(partial(count_again, refs=batch, last=last, now=now))
            yield 0
        for stage in (self._drop_texts, self._drop_edges, self._drop_passed):
            async for dropped in stage(before):
                yield dropped
        if last.committed:
            async for dropped in self._drop_messages(sorted(changed), now):
                yield dropped
        else:
            keys: list[Row] = [FIRST]
            while keys := await read(partial(read_message_keys, after=keys[-1])):
                async for dropped in self._drop_messages(keys, now):
                    yield dropped
        self._citations = now

    async def _drop_texts(self, before: int) -> AsyncGenerator[int]:
        """Drop texts that ended since the last run.

        Only texts up to the reasoned watermark are looked at: new ones are written after it.
        """
        through = await self._read_progress("texts_pruned")
        end = min(before, await self._read_progress(REASONED))
        while through < end:
            through, keys = await self._find_ended_texts(through, end, before)
            yield 0
            for batch in split_into_batches(keys, self._limit):
                yield await self._database.write(partial(drop_texts, texts=batch, before=before))
        await self._mark("texts_pruned", end)

    async def _drop_edges(self, before: int) -> AsyncGenerator[int]:
        """Drop edges that ended since the last run.

        The first edges of a client stay.
        """
        through = await self._read_progress("edges_pruned")
        end = await self._database.read(lambda connection: find_last_round(connection, before))
        for round_ in range(through + 1, end + 1):
            keys: list[Row] = [
                (ref, router)
                for ref, router, is_first in await self._read_rows(EDGES, round_)
                if may_drop_edge(round_, bool(is_first), end)
            ]
            yield 0
            for batch in split_into_batches(keys, self._limit):
                yield await self._delete(DROP_EDGES, to_json(batch), round_)
        await self._mark("edges_pruned", end)

    async def _drop_passed(self, before: int) -> AsyncGenerator[int]:
        for statement in PASSED:
            while dropped := await self._delete(statement, before, self._limit):
                yield dropped

    async def _drop_messages(
        self, keys: Sequence[Row], citations: CitationCounts
    ) -> AsyncGenerator[int]:
        """Drop messages with their parts, and texts that no message holds then.

        Of a message that must stay, at least the merges may be dropped.
        """
        uncited = [key for key in keys if not citations.clients[key]]
        for start in range(0, len(uncited), MESSAGES_A_READ):
            batch = uncited[start : start + MESSAGES_A_READ]
            states = await self._database.read(
                partial(read_message_states, keys=batch, before=citations.at)
            )
            yield 0
            for key, (stands, state) in zip(batch, states, strict=True):
                async for dropped in self._drop_with_merges(key, stands, state, citations.at):
                    yield dropped

    async def _drop_with_merges(
        self, key: Row, stands: bool, state: MessageState, before: int
    ) -> AsyncGenerator[int]:
        """Drop the messages that no text cites, after their merges.

        Both are dropped only if they may be (see graph_rules/retention).

        Args:
            key: (router, version) of the message.
            stands: Whether the message's row still exists; otherwise its parts are dropped.
            state: The message's state.
            before: As in `prune`.

        Yields:
            How many rows each commit dropped.
        """
        if not may_drop_merges(state, before):
            return
        merges = (
            await self._read_rows(
                "SELECT number FROM merged WHERE router = ? AND router_version = ?", *key
            )
            if state.merged_at is not None
            else []
        )
        for batch in split_into_batches(merges, self._limit):
            yield await self._delete(
                "DELETE FROM merged WHERE number IN (SELECT value->>0 FROM json_each(?))",
                to_json(batch),
            )
        if may_drop_message(state, before) or not stands:
            yield await self._drop_message(key, before)
            while dropped := await self._drop_parts(key, before):
                yield dropped

    @reads
    def _read_rows(
        self, connection: sqlite3.Connection, statement: str, *parameters: int
    ) -> list[Row]:
        return connection.execute(statement, parameters).fetchall()

    @reads
    def _find_ended_texts(
        self, connection: sqlite3.Connection, after: int, end: int, before: int
    ) -> tuple[int, list[Row]]:
        """Return the last sequence searched, and the texts that may be dropped."""
        through = read_one(connection, WINDOW, after, end, TEXTS_A_READ) or end
        replaced = connection.execute(TEXTS, (after, through)).fetchall()
        return through, find_droppable_texts(connection, replaced, before)

    @writes
    def _drop_message(self, connection: sqlite3.Connection, key: Row, before: int) -> int:
        """Drop a message that no text cites, unless it was merged meanwhile."""
        [(_, state)] = read_message_states(connection, [key], before)
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

    @writes
    def _drop_parts(self, connection: sqlite3.Connection, key: Row, before: int) -> int:
        """Drop as many parts of a message as fit in a step.

        Texts of these parts are dropped, too, if no other message holds them.

        Returns:
            How many rows were dropped.
        """
        parts = connection.execute(PARTS, (*key, max(self._limit // 2, 1))).fetchall()
        connection.execute(
            "DELETE FROM integrated WHERE rowid IN (SELECT value FROM json_each(?))",
            (to_json([row for row, _, _ in parts]),),
        )
        return len(parts) + drop_texts(connection, [text for _, *text in parts], before)

    @reads
    def _read_progress(self, connection: sqlite3.Connection, name: str) -> int:
        return read_progress(connection, name)

    @writes
    def _mark(self, connection: sqlite3.Connection, name: str, value: int) -> None:
        raise_progress(connection, name, value)
