"""Claims of stage 1: they hand out interactions and commit their results.

Each claim has a token.
"""

import sqlite3
from collections.abc import Callable, Sequence

from propagation.adapters.sqlite.connection import (
    SqlitePart,
    read_many,
    read_next_number,
    read_one,
    read_progress,
    set_progress,
    to_json,
    writes,
)
from propagation.adapters.sqlite.learn.learn import read_blocks_of, read_learned_through
from propagation.adapters.sqlite.reason.reasoned_rows import (
    PackedReasoned,
    list_texts,
    pack_reasoned,
    put_packed,
)
from propagation.adapters.sqlite.reason.texts import pack_bodies
from propagation.graph_rules import (
    Draw,
    DrawColumns,
    build_reason_works,
    check_claim,
    choose_interactions,
    count_pending_to_fetch,
    find_reasoned_through,
    list_drawn_items,
    read_draws,
)
from propagation.model import ReasonClaim, ReasonedInteraction, ReasonWork, summarize_reasoned

REASONED = "reasoned"
"""Name of the progress number of the reasoned watermark.

It is as of the last commit of a claim.
"""
QUEUED_OF = " WHERE sequence IN (SELECT value FROM json_each(?))"
DELETE_CLAIM = "DELETE FROM claim WHERE token = ? RETURNING token"


class SqliteClaims(SqlitePart):
    """Stores claims by token, and commits their results."""

    @writes
    def claim_reason(
        self, connection: sqlite3.Connection, worker: str, limit: int, ttl_ms: int
    ) -> ReasonClaim | None:
        return self._claim(connection, worker, limit, ttl_ms, _find_pending)

    @writes
    def claim_dead_letters(
        self, connection: sqlite3.Connection, worker: str, limit: int, ttl_ms: int
    ) -> ReasonClaim | None:
        return self._claim(connection, worker, limit, ttl_ms, _find_queued_dead_letters)

    @writes
    def queue_dead_letters(
        self, connection: sqlite3.Connection, sequences: Sequence[int] | None
    ) -> int:
        which, asked = ("", ()) if sequences is None else (QUEUED_OF, (to_json(sequences),))
        return connection.execute(f"UPDATE dead_letter SET queued = 1{which}", asked).rowcount

    def _claim(
        self,
        connection: sqlite3.Connection,
        worker: str,
        limit: int,
        ttl_ms: int,
        find: Callable[[sqlite3.Connection, int], list[list[int]]],
    ) -> ReasonClaim | None:
        connection.execute("DELETE FROM claim WHERE expires <= ?", (self._clock.now_ms(),))
        claimed = read_many(
            connection, "SELECT json_group_array(w.value) FROM claim, json_each(claim.work) w"
        )
        oldest = find(connection, count_pending_to_fetch(limit, len(claimed)))
        sequences = choose_interactions(oldest, set(claimed), limit)
        if not sequences:
            return None
        token = read_next_number(connection, "claim")
        connection.execute(
            "INSERT INTO claim VALUES (?, ?, ?, ?)",
            (token, worker, self._clock.now_ms() + ttl_ms, to_json(sequences)),
        )
        return ReasonClaim(
            token=token, worker=worker, work=tuple(_build_work(connection, sequences))
        )

    @writes
    def renew_claims(
        self, connection: sqlite3.Connection, tokens: Sequence[int], ttl_ms: int
    ) -> None:
        connection.execute(
            "UPDATE claim SET expires = ? WHERE token IN (SELECT value FROM json_each(?))",
            (self._clock.now_ms() + ttl_ms, to_json(tokens)),
        )

    async def commit_reasoned(
        self, claim: ReasonClaim, reasoned: Sequence[ReasonedInteraction], *, more: bool = False
    ) -> None:
        bodies = await pack_bodies(list_texts(reasoned))
        summaries = [summarize_reasoned(result) for result in reasoned]
        await self.commit_packed(claim, pack_reasoned(reasoned, bodies, summaries), more=more)

    @writes
    def commit_packed(
        self,
        connection: sqlite3.Connection,
        claim: ReasonClaim,
        reasoned: PackedReasoned,
        *,
        more: bool = False,
    ) -> None:
        """Commit results that were packed before, possibly by another process."""
        found = read_one(
            connection,
            "SELECT token FROM claim WHERE token = ?" if more else DELETE_CLAIM,
            claim.token,
        )
        check_claim(claim, found is not None, (done.sequence for done in reasoned.summaries))
        put_packed(connection, reasoned, self._directory.now())
        set_progress(connection, REASONED, read_reasoned_through(connection))


def read_reasoned_through(connection: sqlite3.Connection) -> int:
    """Return the sequence up to which all interactions are reasoned."""
    pending = _find_pending(connection, 1)
    return find_reasoned_through(
        pending[0][0] if pending else None, read_learned_through(connection)
    )


def _find_pending(connection: sqlite3.Connection, limit: int) -> list[list[int]]:
    """Return [sequence, user] of the oldest learned interactions without a reasoned row."""
    return read_many(
        connection,
        "SELECT json_group_array(json_array(sequence, user)) FROM (SELECT i.sequence, i.user FROM"
        " interaction i LEFT JOIN reasoned r ON r.sequence = i.sequence WHERE i.sequence > ? AND"
        " i.sequence <= ? AND r.sequence IS NULL ORDER BY i.sequence LIMIT ?)",
        read_progress(connection, REASONED),
        read_learned_through(connection),
        limit,
    )


def _find_queued_dead_letters(connection: sqlite3.Connection, limit: int) -> list[list[int]]:
    """Return [sequence, user] of the oldest dead letters that are queued."""
    return read_many(
        connection,
        "SELECT json_group_array(json_array(sequence, user)) FROM (SELECT d.sequence, i.user"
        " FROM dead_letter d CROSS JOIN interaction i ON i.sequence = d.sequence WHERE d.queued"
        " ORDER BY d.sequence LIMIT ?)",
        limit,
    )


def _build_work(connection: sqlite3.Connection, sequences: Sequence[int]) -> list[ReasonWork]:
    rows = connection.execute(
        """
        SELECT sequence, user, item, weight
        FROM json_each(?) e CROSS JOIN interaction ON sequence = e.value
        ORDER BY sequence
        """,
        (to_json(sequences),),
    ).fetchall()
    draws = _read_draws(connection, sequences)
    known_items = read_many(
        connection,
        "SELECT json_group_array(ref) FROM json_each(?) e CROSS JOIN client ON ref = e.value",
        to_json(list_drawn_items(draws.values())),
    )
    return build_reason_works(rows, draws, set(known_items))


def _read_draws(connection: sqlite3.Connection, sequences: Sequence[int]) -> dict[int, Draw]:
    """Return the stored draws by sequence; `sequences` ascend."""
    draws: dict[int, Draw] = {}
    for block in read_blocks_of(connection, sequences):
        columns = DrawColumns(block.through, block.sequence, block.negatives[:, 0], block.scores)
        draws |= read_draws(columns, sequences[len(draws) :])
    return draws
