"""ReasonStore on SQLite."""

import sqlite3
from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from propagation.adapters.shared.learned_blocks import unpacked
from propagation.adapters.sqlite.connection.client_ids import Directory
from propagation.adapters.sqlite.connection.database import Database
from propagation.adapters.sqlite.connection.json_rows import counted, dumped, many, one
from propagation.adapters.sqlite.connection.wiping import last_withdrawal
from propagation.adapters.sqlite.learn.learn import BLOCK, learned_through
from propagation.adapters.sqlite.reason.reasoned_rows import (
    PackedReasoned,
    packed,
    put_packed,
    texts_of,
)
from propagation.adapters.sqlite.reason.texts import (
    GRADIENT,
    MERGED,
    bodies_of,
    gradient_of,
    merged_of,
    merged_rows,
    newest_versions,
    put_merged,
    put_texts,
    text_at,
    text_rows,
    texts_of_versions,
    texts_or_none_yet,
    texts_through,
)
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
    NumberedText,
    ReasonClaim,
    ReasonedInteraction,
    ReasonWork,
    seed_of,
)
from propagation.ports import Clock, VersionClash

TEXT_ROWS = 8
HELD_STILL = "SELECT token FROM claim WHERE token = ?"
GIVEN_BACK = "DELETE FROM claim WHERE token = ? RETURNING token"
REACH = (
    "SELECT router, count(DISTINCT CASE WHEN outcome = 'merged' THEN ref END), sum(outcome = "
    "'merged'),"
    " sum(outcome = 'filtered'), sum(outcome = 'empty'), sum(outcome = 'fell out') FROM merged "
    "NOT INDEXED"
    " WHERE number > (SELECT value FROM progress WHERE name = 'merged') - ?"
    " GROUP BY router ORDER BY router"
)
OF_REASONED = "(SELECT r.{0} FROM reasoned r WHERE r.sequence = interaction.sequence)"
ROW = (
    "sequence, event_id, user, item, negative, time, weight, "
    f"{OF_REASONED.format('prompts')} AS prompts, {OF_REASONED.format('stand_in')} AS stand_in"
)


class SqliteReason:
    """Stores texts as versions, and claims by token."""

    def __init__(self, database: Database, directory: Directory, clock: Clock) -> None:
        self._database = database
        self._directory = directory
        self._clock = clock

    async def claim_reason(self, worker: str, limit: int, ttl_ms: int) -> ReasonClaim | None:
        def work(connection: sqlite3.Connection) -> ReasonClaim | None:
            connection.execute("DELETE FROM claim WHERE expires <= ?", (self._clock.now_ms(),))
            chosen = _choose(connection, limit)
            return self._claimed(connection, worker, ttl_ms, chosen) if chosen else None

        return await self._database.write(work)

    async def claim_dead_letters(self, worker: str, limit: int, ttl_ms: int) -> ReasonClaim | None:
        def work(connection: sqlite3.Connection) -> ReasonClaim | None:
            connection.execute("DELETE FROM claim WHERE expires <= ?", (self._clock.now_ms(),))
            held = "SELECT w.value FROM claim, json_each(claim.work) w"
            chosen = many(
                connection,
                "SELECT json_group_array(sequence) FROM (SELECT sequence FROM dead_letter"
                f" WHERE sequence NOT IN ({held}) ORDER BY sequence LIMIT ?)",
                limit,
            )
            return self._claimed(connection, worker, ttl_ms, chosen) if chosen else None

        return await self._database.write(work)

    def _claimed(
        self, connection: sqlite3.Connection, worker: str, ttl_ms: int, sequences: Sequence[int]
    ) -> ReasonClaim:
        expires = self._clock.now_ms() + ttl_ms
        token = counted(connection, "claim")
        connection.execute(
            "INSERT INTO claim VALUES (?, ?, ?, ?)", (token, worker, expires, dumped(sequences))
        )
        return ReasonClaim(
            token=token, worker=worker, expires=expires, work=tuple(_work(connection, sequences))
        )

    async def renew_claims(self, tokens: Sequence[int], ttl_ms: int) -> None:
        await self._database.write(
            lambda connection: connection.execute(
                "UPDATE claim SET expires = ? WHERE token IN (SELECT value FROM json_each(?))",
                (self._clock.now_ms() + ttl_ms, dumped(tokens)),
            )
        )

    async def commit_reasoned(
        self, claim: ReasonClaim, reasoned: Sequence[ReasonedInteraction], *, more: bool = False
    ) -> None:
        await self.commit_packed(
            claim, packed(reasoned, await bodies_of(texts_of(reasoned))), more=more
        )

    async def commit_packed(
        self, claim: ReasonClaim, reasoned: PackedReasoned, *, more: bool = False
    ) -> None:
        """Commit what was packed before, possibly by another process."""
        claimed = {work.sequence for work in claim.work}

        def work(connection: sqlite3.Connection) -> None:
            if one(connection, HELD_STILL if more else GIVEN_BACK, claim.token) is None:
                raise LeaseLost(
                    f"claim {claim.token} of worker {claim.worker!r} stands no more: it expired "
                    "and was taken over, or"
                    " something was taken back, or routers evolved, meanwhile"
                )
            if strange := [
                done.sequence for done in reasoned.finished if done.sequence not in claimed
            ]:
                raise LeaseLost(f"claim {claim.token} does not hold interaction {strange[0]}")
            put_packed(connection, reasoned, self._directory.now())
            connection.execute(
                "INSERT OR REPLACE INTO progress VALUES ('reasoned', ?)",
                (reasoned_through(connection),),
            )

        await self._database.write(work)

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
                and last_withdrawal(connection) != after_withdrawal
            ):
                raise VersionClash(texts[0].profile.ref)
            put_texts(connection, rows, self._directory.now(), written_by)
            put_merged(connection, merges)

        await self._database.write(work)

    async def load_texts(self, refs: Sequence[int]) -> Mapping[int, ClientText]:
        return await self._database.read(
            lambda connection: texts_or_none_yet(connection, refs), TEXT_ROWS * len(refs)
        )

    async def text_versions(self, refs: Sequence[int] | None = None) -> Mapping[int, int]:
        if refs is not None:
            return await self._database.read(
                lambda connection: newest_versions(connection, refs), len(refs)
            )
        return await self._database.read(
            lambda connection: dict(
                many(
                    connection,
                    "SELECT json_group_array(json_array(ref, version)) FROM (SELECT c.ref AS "
                    "ref, (SELECT max(v.version)"
                    " FROM profile_version v WHERE v.ref = c.ref) AS version FROM client c) "
                    "WHERE version IS NOT NULL",
                )
            )
        )

    async def text_at(self, ref: int, sequence: int) -> ClientText | None:
        return await self._database.read(lambda connection: text_at(connection, ref, sequence))

    async def texts_of_versions(
        self, versions: Sequence[tuple[int, int]]
    ) -> Mapping[tuple[int, int], ClientText]:
        return await self._database.read(lambda connection: texts_of_versions(connection, versions))

    async def texts_through(self) -> int:
        return await self._database.read(texts_through)

    async def texts_after(self, number: int, limit: int) -> Sequence[NumberedText]:
        return await self._database.read(
            lambda connection: [
                NumberedText(*row)
                for row in connection.execute(
                    (
                        "SELECT rowid, ref, version FROM profile_version WHERE rowid > ? ORDER BY "
                        "rowid LIMIT ?"
                    ),
                    (number, limit),
                ).fetchall()
            ]
        )

    async def reasoned_through(self) -> int:
        return await self._database.read(reasoned_through)

    async def interactions(self, sequences: Sequence[int]) -> Sequence[InteractionRow]:
        return await self._database.read(
            lambda connection: [
                interaction_of(row)
                for row in connection.execute(
                    (
                        f"SELECT {ROW} FROM json_each(?) e CROSS JOIN interaction ON sequence = "
                        "e.value ORDER BY e.key"
                    ),
                    (dumped(list(sequences)),),
                ).fetchall()
            ],
            len(sequences),
        )

    async def find_event(self, event_id: str) -> InteractionRow | None:
        def work(connection: sqlite3.Connection) -> InteractionRow | None:
            row = connection.execute(
                f"SELECT {ROW} FROM interaction WHERE seed = ? AND event_id = ?",
                (signed(seed_of(event_id)), event_id),
            ).fetchone()
            return None if row is None else interaction_of(row)

        return await self._database.read(work)

    async def merges_of_message(
        self, router: int, version: int, limit: int
    ) -> Sequence[MessageMerge]:
        return await self._database.read(
            lambda connection: [
                merged_of(row)
                for row in connection.execute(
                    (
                        f"SELECT {MERGED} FROM merged WHERE router = ? AND router_version = ? "
                        "ORDER "
                        "BY ref, profile_version LIMIT ?"
                    ),
                    (router, version, limit),
                ).fetchall()
            ]
        )

    async def message_reach(self, newest: int) -> Sequence[MessageReach]:
        return await self._database.read(
            lambda connection: [
                MessageReach(
                    router=row[0],
                    clients=row[1],
                    merged=row[2],
                    filtered=row[3],
                    empty=row[4],
                    fell_out=row[5],
                )
                for row in connection.execute(REACH, (newest,)).fetchall()
            ]
        )

    async def merges_through(self) -> int:
        return await self._database.read(
            lambda connection: (
                one(connection, "SELECT value FROM progress WHERE name = 'merged'") or 0
            )
        )

    async def merges_after(self, number: int, through: int, limit: int) -> Sequence[NumberedMerge]:
        return await self._database.read(
            lambda connection: [
                NumberedMerge(number=row[0], sequence=row[1], merge=merged_of(row[2:]))
                for row in connection.execute(
                    (
                        f"SELECT number, sequence, {MERGED} FROM merged WHERE number > ? AND "
                        "number "
                        "<= ? ORDER BY number LIMIT ?"
                    ),
                    (number, through, limit),
                ).fetchall()
            ]
        )

    async def gradients(
        self, module: Module, owner: int | None, after: int, limit: int
    ) -> Sequence[Gradient]:
        # without an owner by sequence: the index of owners would give all there are, to be sorted
        # for every part that is read
        index, which, parameters = (
            ("gradient_owner", "owner = ? AND", (owner,))
            if owner is not None
            else ("gradient_sequence", "", ())
        )
        return await self._database.read(
            lambda connection: [
                gradient_of((*row[:6], orjson.loads(row[6]), row[7]))
                for row in connection.execute(
                    f"SELECT {GRADIENT} FROM gradient INDEXED BY {index} WHERE module = ? AND "
                    f"{which} sequence > ?"
                    " ORDER BY sequence, owner LIMIT ?",
                    (module, *parameters, after, limit),
                ).fetchall()
            ]
        )

    async def dead_letters(self, limit: int) -> Sequence[DeadLetter]:
        return await self._database.read(
            lambda connection: [
                DeadLetter(*row)
                for row in connection.execute(
                    "SELECT sequence, reason FROM dead_letter ORDER BY sequence LIMIT ?", (limit,)
                )
            ]
        )


def reasoned_through(connection: sqlite3.Connection) -> int:
    """Return the sequence up to which everything is reasoned.

    That is one below the oldest learned interaction without a reasoned row, else what is learned.
    """
    first = _waiting(connection, 1)
    return first[0][0] - 1 if first else learned_through(connection)


def _choose(connection: sqlite3.Connection, limit: int) -> list[int]:
    claimed = set(
        many(connection, "SELECT json_group_array(w.value) FROM claim, json_each(claim.work) w")
    )
    pending = _waiting(connection, pending_to_fetch(limit, len(claimed)))
    return choose_interactions([PendingInteraction(*row) for row in pending], claimed, limit)


def _waiting(connection: sqlite3.Connection, limit: int) -> list[list[int]]:
    """Return [sequence, user] of the oldest learned interactions without a reasoned row."""
    return many(
        connection,
        "SELECT json_group_array(json_array(sequence, user)) FROM ("
        "SELECT i.sequence, i.user FROM interaction i LEFT JOIN reasoned r ON r.sequence = "
        "i.sequence"
        " WHERE i.sequence > ? AND i.sequence <= ? AND r.sequence IS NULL ORDER BY i.sequence "
        "LIMIT ?)",
        watermark(connection),
        learned_through(connection),
        limit,
    )


def watermark(connection: sqlite3.Connection) -> int:
    """Return where a search starts: all up to it was reasoned at the last commit of a claim."""
    return one(connection, "SELECT value FROM progress WHERE name = 'reasoned'") or 0


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
        row = connection.execute(
            f"SELECT {BLOCK} FROM learned WHERE through >= ? ORDER BY through LIMIT 1", (rest[0],)
        ).fetchone()
        block = unpacked(*row)
        columns = DrawColumns(block.through, block.sequence, block.negatives[:, 0], block.scores)
        draws |= read_draws(columns, rest)
    return draws


def interaction_of(row: Sequence[Any]) -> InteractionRow:
    """Return the interaction of a row of ROW."""
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
