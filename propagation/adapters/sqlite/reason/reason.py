"""ReasonStore on SQLite."""

import sqlite3
from collections.abc import Sequence
from typing import Any

import orjson

from propagation.adapters.sqlite.connection import (
    TAKEN_BACK,
    counted,
    dumped,
    many,
    one,
    progress_of,
    reads,
    set_progress,
    writes,
)
from propagation.adapters.sqlite.learn.learn import block_of, learned_through
from propagation.adapters.sqlite.reason.reasoned_rows import (
    GRADIENT,
    MERGED,
    PackedReasoned,
    merged_rows,
    packed,
    put_merged,
    put_packed,
    texts_of,
)
from propagation.adapters.sqlite.reason.texts import SqliteTexts, bodies_of, put_texts, text_rows
from propagation.adapters.sqlite.record.record import signed
from propagation.graph_rules.claims import (
    ClaimedInteraction,
    Draw,
    DrawColumns,
    PendingInteraction,
    choose_interactions,
    drawn_items,
    pending_to_fetch,
    read_draws,
    reason_work,
)
from propagation.model import (
    ClientText,
    DeadLetter,
    Gradient,
    InteractionRow,
    LeaseLost,
    MessageMerge,
    MessageReach,
    Module,
    NumberedMerge,
    ReasonClaim,
    ReasonedInteraction,
    ReasonWork,
    seed_of,
)
from propagation.ports import VersionClash

REASONED = "reasoned"
"""Progress: all up to this sequence was reasoned at the last commit of a claim."""
HELD_STILL = "SELECT token FROM claim WHERE token = ?"
GIVEN_BACK = "DELETE FROM claim WHERE token = ? RETURNING token"
REACH = (
    "SELECT router, count(DISTINCT CASE WHEN outcome = 'merged' THEN ref END), sum(outcome ="
    " 'merged'), sum(outcome = 'filtered'), sum(outcome = 'empty'), sum(outcome = 'fell out') FROM"
    " merged NOT INDEXED WHERE number > (SELECT value FROM progress WHERE name = 'merged') - ?"
    " GROUP BY router ORDER BY router"
)
OF_REASONED = "(SELECT r.{0} FROM reasoned r WHERE r.sequence = interaction.sequence)"
OF_SEQUENCES = "json_each(?) e CROSS JOIN interaction ON sequence = e.value ORDER BY e.key"
ROW = (
    f"sequence, event_id, user, item, negative, time, weight, {OF_REASONED.format('prompts')} AS"
    f" prompts, {OF_REASONED.format('stand_in')} AS stand_in"
)


class SqliteReason(SqliteTexts):
    """Hands out claims by token, and stores what was reasoned."""

    @writes
    def claim_reason(
        self, connection: sqlite3.Connection, worker: str, limit: int, ttl_ms: int
    ) -> ReasonClaim | None:
        claimed = self._claimed(connection)
        pending = _waiting(connection, pending_to_fetch(limit, len(claimed)))
        chosen = choose_interactions(
            [PendingInteraction(*row) for row in pending], set(claimed), limit
        )
        return self._claim(connection, worker, ttl_ms, chosen)

    @writes
    def claim_dead_letters(
        self, connection: sqlite3.Connection, worker: str, limit: int, ttl_ms: int
    ) -> ReasonClaim | None:
        chosen = many(
            connection,
            "SELECT json_group_array(sequence) FROM (SELECT sequence FROM dead_letter"
            " WHERE sequence NOT IN (SELECT value FROM json_each(?)) ORDER BY sequence LIMIT ?)",
            dumped(self._claimed(connection)),
            limit,
        )
        return self._claim(connection, worker, ttl_ms, chosen)

    def _claimed(self, connection: sqlite3.Connection) -> list[int]:
        """End expired claims; return the sequences of the others."""
        connection.execute("DELETE FROM claim WHERE expires <= ?", (self._clock.now_ms(),))
        return many(
            connection, "SELECT json_group_array(w.value) FROM claim, json_each(claim.work) w"
        )

    def _claim(
        self, connection: sqlite3.Connection, worker: str, ttl_ms: int, sequences: Sequence[int]
    ) -> ReasonClaim | None:
        if not sequences:
            return None
        expires = self._clock.now_ms() + ttl_ms
        token = counted(connection, "claim")
        connection.execute(
            "INSERT INTO claim VALUES (?, ?, ?, ?)", (token, worker, expires, dumped(sequences))
        )
        return ReasonClaim(
            token=token, worker=worker, expires=expires, work=tuple(_work(connection, sequences))
        )

    @writes
    def renew_claims(
        self, connection: sqlite3.Connection, tokens: Sequence[int], ttl_ms: int
    ) -> None:
        connection.execute(
            "UPDATE claim SET expires = ? WHERE token IN (SELECT value FROM json_each(?))",
            (self._clock.now_ms() + ttl_ms, dumped(tokens)),
        )

    async def commit_reasoned(
        self, claim: ReasonClaim, reasoned: Sequence[ReasonedInteraction], *, more: bool = False
    ) -> None:
        await self.commit_packed(
            claim, packed(reasoned, await bodies_of(texts_of(reasoned))), more=more
        )

    @writes
    def commit_packed(
        self,
        connection: sqlite3.Connection,
        claim: ReasonClaim,
        reasoned: PackedReasoned,
        *,
        more: bool = False,
    ) -> None:
        """Commit what was packed before, possibly by another process."""
        if one(connection, HELD_STILL if more else GIVEN_BACK, claim.token) is None:
            raise LeaseLost(
                f"claim {claim.token} of worker {claim.worker!r} stands no more: it expired and was"
                " taken over, or something was taken back, or routers evolved, meanwhile"
            )
        claimed = {work.sequence for work in claim.work}
        for done in reasoned.finished:
            if done.sequence not in claimed:
                raise LeaseLost(f"claim {claim.token} does not hold interaction {done.sequence}")
        put_packed(connection, reasoned, self._directory.now())
        set_progress(connection, REASONED, reasoned_through(connection))

    async def commit_texts(
        self,
        texts: Sequence[ClientText],
        merged: Sequence[MessageMerge],
        sequence: int,
        after_withdrawal: int | None = None,
        written_by: str = "",
    ) -> None:
        rows = text_rows([(text, sequence) for text in texts], await bodies_of(texts))
        merges = merged_rows([(merge, sequence) for merge in merged])

        def work(connection: sqlite3.Connection) -> None:
            if (
                after_withdrawal is not None
                and texts
                and progress_of(connection, TAKEN_BACK) != after_withdrawal
            ):
                raise VersionClash(texts[0].profile.ref)
            put_texts(connection, rows, self._directory.now(), written_by)
            put_merged(connection, merges)

        await self._database.write(work)

    async def reasoned_through(self) -> int:
        return await self._database.read(reasoned_through)

    async def interactions(self, sequences: Sequence[int]) -> Sequence[InteractionRow]:
        return await self._database.read(
            lambda connection: interactions_where(
                connection, OF_SEQUENCES, dumped(list(sequences))
            ),
            len(sequences),
        )

    @reads
    def find_event(self, connection: sqlite3.Connection, event_id: str) -> InteractionRow | None:
        return event_of(connection, event_id)

    @reads
    def merges_of_message(
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
    def message_reach(self, connection: sqlite3.Connection, newest: int) -> Sequence[MessageReach]:
        return [
            MessageReach(
                router=row[0],
                clients=row[1],
                merged=row[2],
                filtered=row[3],
                empty=row[4],
                fell_out=row[5],
            )
            for row in connection.execute(REACH, (newest,))
        ]

    @reads
    def merges_through(self, connection: sqlite3.Connection) -> int:
        return progress_of(connection, "merged")

    @reads
    def merges_after(
        self, connection: sqlite3.Connection, number: int, through: int, limit: int
    ) -> Sequence[NumberedMerge]:
        return [
            NumberedMerge(number=row[0], sequence=row[1], merge=MessageMerge(*row[2:]))
            for row in connection.execute(
                f"SELECT number, sequence, {MERGED} FROM merged WHERE number > ? AND "
                "number <= ? ORDER BY number LIMIT ?",
                (number, through, limit),
            )
        ]

    @reads
    def gradients(
        self,
        connection: sqlite3.Connection,
        module: Module,
        owner: int | None,
        after: int,
        limit: int,
    ) -> Sequence[Gradient]:
        # without an owner by sequence: the index of owners would give all there are, to be sorted
        # for every part that is read
        index, which, parameters = (
            ("gradient_owner", "owner = ? AND", (owner,))
            if owner is not None
            else ("gradient_sequence", "", ())
        )
        return [
            _gradient(row)
            for row in connection.execute(
                f"SELECT {GRADIENT} FROM gradient INDEXED BY {index} WHERE module = ? AND "
                f"{which} sequence > ?"
                " ORDER BY sequence, owner LIMIT ?",
                (module, *parameters, after, limit),
            )
        ]

    @reads
    def dead_letters(self, connection: sqlite3.Connection, limit: int) -> Sequence[DeadLetter]:
        return [
            DeadLetter(*row)
            for row in connection.execute(
                "SELECT sequence, reason FROM dead_letter ORDER BY sequence LIMIT ?", (limit,)
            )
        ]


def reasoned_through(connection: sqlite3.Connection) -> int:
    """Return the sequence up to which everything is reasoned.

    That is one below the oldest learned interaction without a reasoned row, else what is learned.
    """
    first = _waiting(connection, 1)
    return first[0][0] - 1 if first else learned_through(connection)


def _waiting(connection: sqlite3.Connection, limit: int) -> list[list[int]]:
    """Return [sequence, user] of the oldest learned interactions without a reasoned row."""
    return many(
        connection,
        "SELECT json_group_array(json_array(sequence, user)) FROM (SELECT i.sequence, i.user FROM"
        " interaction i LEFT JOIN reasoned r ON r.sequence = i.sequence WHERE i.sequence > ? AND"
        " i.sequence <= ? AND r.sequence IS NULL ORDER BY i.sequence LIMIT ?)",
        progress_of(connection, REASONED),
        learned_through(connection),
        limit,
    )


def _work(connection: sqlite3.Connection, sequences: Sequence[int]) -> list[ReasonWork]:
    rows = connection.execute(
        """
        SELECT sequence, user, item, weight
        FROM json_each(?) e CROSS JOIN interaction ON sequence = e.value
        ORDER BY sequence
        """,
        (dumped(sequences),),
    ).fetchall()
    draws = _draws(connection, sequences)
    known_items = many(
        connection,
        "SELECT json_group_array(ref) FROM json_each(?) e CROSS JOIN client ON ref = e.value",
        dumped(drawn_items(draws.values())),
    )
    return reason_work([ClaimedInteraction(*row) for row in rows], draws, set(known_items))


def _draws(connection: sqlite3.Connection, sequences: Sequence[int]) -> dict[int, Draw]:
    """Read the draws of interactions, ascending, as learn stored them."""
    draws: dict[int, Draw] = {}
    while len(draws) < len(sequences):
        rest = sequences[len(draws) :]
        block = block_of(connection, rest[0])
        assert block is not None, "only what was learned is claimed"
        columns = DrawColumns(block.through, block.sequence, block.negatives[:, 0], block.scores)
        draws |= read_draws(columns, rest)
    return draws


def interactions_where(
    connection: sqlite3.Connection, which: str, *parameters: object
) -> list[InteractionRow]:
    """Return interactions; `which` is the SQL of a query of ROW after FROM."""
    return [
        _interaction(row) for row in connection.execute(f"SELECT {ROW} FROM {which}", parameters)
    ]


def event_of(connection: sqlite3.Connection, event_id: str) -> InteractionRow | None:
    """Return a recorded event; None if there is none."""
    found = interactions_where(
        connection,
        "interaction WHERE seed = ? AND event_id = ?",
        signed(seed_of(event_id)),
        event_id,
    )
    return found[0] if found else None


def _interaction(row: Sequence[Any]) -> InteractionRow:
    return InteractionRow(
        sequence=row[0],
        event_id=row[1],
        user=row[2],
        item=row[3],
        negative=row[4],
        time=row[5],
        weight=row[6],
        prompts=tuple(orjson.loads(row[7] or "[]")),
        stand_in=row[8] or "",
    )


def _gradient(row: Sequence[Any]) -> Gradient:
    return Gradient(
        sequence=row[0],
        module=Module(row[1]),
        owner=row[2],
        writer=row[3],
        reward=row[4],
        text=row[5],
        attributes=tuple(orjson.loads(row[6])),
        epoch=row[7],
    )
