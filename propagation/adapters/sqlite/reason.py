"""ReasonStore on SQLite."""

import sqlite3
from collections.abc import Mapping, Sequence

import orjson

from propagation.adapters.sqlite.columns import unpacked
from propagation.adapters.sqlite.database import Database
from propagation.adapters.sqlite.learn import learned_through
from propagation.adapters.sqlite.record import SqliteRecords
from propagation.adapters.sqlite.rows import dumped, many, one
from propagation.model.errors import LeaseLost
from propagation.model.filter_memory import FilterMemory, FilterRule
from propagation.model.interaction import InteractionRow
from propagation.model.profile import Author, Line, Profile, Source
from propagation.model.text import ClientText, Merged, ReasonClaim, Reasoned, ReasonWork
from propagation.ports.clock import Clock
from propagation.ports.graph import VersionClash

LOOK_AHEAD = 8
ROW = "sequence, event_id, user, item, negative, time, weight"


class SqliteReason:
    """Texts as versions, claims by token."""

    def __init__(self, database: Database, records: SqliteRecords, clock: Clock) -> None:
        self._database = database
        self._records = records
        self._clock = clock

    async def claim_reason(self, worker: str, limit: int, ttl_ms: int) -> ReasonClaim | None:
        def work(connection: sqlite3.Connection) -> ReasonClaim | None:
            now = self._clock.now_ms()
            connection.execute("DELETE FROM claim WHERE expires <= ?", (now,))
            held = set(many(connection, "SELECT json_group_array(w.value) FROM claim, json_each(claim.work) w"))
            waiting = _waiting(connection, limit * LOOK_AHEAD if held else limit)
            chosen: list[int] = []
            blocked: set[int] = set()
            for sequence, user in waiting:
                if sequence in held or user in blocked:
                    blocked.add(user)
                elif len(chosen) < limit:
                    chosen.append(sequence)
            if not chosen:
                return None
            token = one(connection, "SELECT value FROM progress WHERE name = 'claim'") or 0
            connection.execute("INSERT OR REPLACE INTO progress VALUES ('claim', ?)", (token + 1,))
            connection.execute("INSERT INTO claim VALUES (?, ?, ?, ?)", (token + 1, worker, now + ttl_ms, dumped(chosen)))
            return ReasonClaim(token=token + 1, worker=worker, expires=now + ttl_ms, work=tuple(_work(connection, chosen)))

        return await self._database.write(work)

    async def commit_reasoned(self, claim: ReasonClaim, reasoned: Sequence[Reasoned]) -> None:
        def work(connection: sqlite3.Connection) -> None:
            if one(connection, "SELECT token FROM claim WHERE token = ?", claim.token) is None:
                raise LeaseLost(f"claim {claim.token} of worker {claim.worker!r} expired and was taken over")
            connection.execute("DELETE FROM claim WHERE token = ?", (claim.token,))
            at = self._records.now()
            for result in reasoned:
                _put_texts(connection, result.texts, result.sequence, at)
            _put_merged(connection, [(merge, result.sequence) for result in reasoned for merge in result.merged])
            _put_gradients(connection, reasoned)
            connection.execute("INSERT INTO reasoned SELECT value->>0, value->>1, value->>2 FROM json_each(?)",
                               (dumped([(result.sequence, result.user, result.reward) for result in reasoned]),))
            connection.executemany("INSERT OR REPLACE INTO dead_letter VALUES (?, ?)",
                                   [(result.sequence, result.failure) for result in reasoned if result.failure is not None])
            _advance(connection)

        await self._database.write(work)

    async def commit_texts(self, texts: Sequence[ClientText], merged: Sequence[Merged], sequence: int) -> None:
        def work(connection: sqlite3.Connection) -> None:
            _put_texts(connection, texts, sequence, self._records.now())
            _put_merged(connection, [(merge, sequence) for merge in merged])

        await self._database.write(work)

    async def load_texts(self, refs: Sequence[int]) -> Mapping[int, ClientText]:
        return await self._database.read(lambda connection: {ref: _text_at(connection, ref, None) or _nothing(ref)
                                                             for ref in refs})

    async def text_at(self, ref: int, sequence: int) -> ClientText | None:
        return await self._database.read(lambda connection: _text_at(connection, ref, sequence))

    async def reasoned_through(self) -> int:
        return await self._database.read(_reasoned_through)

    async def interactions(self, sequences: Sequence[int]) -> Sequence[InteractionRow]:
        def work(connection: sqlite3.Connection) -> Sequence[InteractionRow]:
            rows = connection.execute(f"SELECT {ROW} FROM json_each(?) e CROSS JOIN interaction"
                                      " ON sequence = e.value ORDER BY e.key", (dumped(list(sequences)),))
            return [_interaction(row) for row in rows]

        return await self._database.read(work)

    async def find_event(self, event_id: str) -> InteractionRow | None:
        def work(connection: sqlite3.Connection) -> InteractionRow | None:
            row = connection.execute(f"SELECT {ROW} FROM interaction WHERE event_id = ?", (event_id,)).fetchone()
            return None if row is None else _interaction(row)

        return await self._database.read(work)

    async def recent_interactions(self, ref: int, limit: int) -> Sequence[InteractionRow]:
        column = "item" if ref & 1 else "user"

        def work(connection: sqlite3.Connection) -> Sequence[InteractionRow]:
            rows = connection.execute(f"SELECT {ROW} FROM interaction WHERE {column} = ? ORDER BY sequence DESC LIMIT ?",
                                      (ref, limit))
            return [_interaction(row) for row in rows]

        return await self._database.read(work)

    async def merges_into(self, ref: int, limit: int) -> Sequence[Merged]:
        def work(connection: sqlite3.Connection) -> Sequence[Merged]:
            rows = connection.execute("SELECT ref, profile_version, router, router_version, outcome FROM merged"
                                      " WHERE ref = ? ORDER BY profile_version DESC, router LIMIT ?", (ref, limit))
            return [_merged(row) for row in rows]

        return await self._database.read(work)

    async def merges_of(self, router: int, version: int, limit: int) -> Sequence[Merged]:
        def work(connection: sqlite3.Connection) -> Sequence[Merged]:
            rows = connection.execute("SELECT ref, profile_version, router, router_version, outcome FROM merged"
                                      " WHERE router = ? AND router_version = ? ORDER BY ref, profile_version LIMIT ?",
                                      (router, version, limit))
            return [_merged(row) for row in rows]

        return await self._database.read(work)

    async def dead_letters(self, limit: int) -> Sequence[tuple[int, str]]:
        return await self._database.read(lambda connection: connection.execute(
            "SELECT sequence, reason FROM dead_letter ORDER BY sequence LIMIT ?", (limit,)).fetchall())


def _waiting(connection: sqlite3.Connection, limit: int) -> list[tuple[int, int]]:
    """(sequence, user) of the oldest learned interactions without a reasoned row."""
    return connection.execute(
        "SELECT i.sequence, i.user FROM interaction i LEFT JOIN reasoned r ON r.sequence = i.sequence"
        " WHERE i.sequence > ? AND i.sequence <= ? AND r.sequence IS NULL ORDER BY i.sequence LIMIT ?",
        (_watermark(connection), learned_through(connection), limit)).fetchall()


def _watermark(connection: sqlite3.Connection) -> int:
    return one(connection, "SELECT value FROM progress WHERE name = 'reasoned'") or 0


def _reasoned_through(connection: sqlite3.Connection) -> int:
    first = connection.execute(
        "SELECT min(i.sequence) FROM interaction i LEFT JOIN reasoned r ON r.sequence = i.sequence"
        " WHERE i.sequence > ? AND r.sequence IS NULL", (_watermark(connection),)).fetchone()[0]
    learned = learned_through(connection)
    return learned if first is None else min(first - 1, learned)


def _advance(connection: sqlite3.Connection) -> None:
    connection.execute("INSERT OR REPLACE INTO progress VALUES ('reasoned', ?)", (_reasoned_through(connection),))


def _work(connection: sqlite3.Connection, sequences: Sequence[int]) -> list[ReasonWork]:
    rows = connection.execute("SELECT sequence, user, item, weight FROM json_each(?) e CROSS JOIN interaction"
                              " ON sequence = e.value ORDER BY sequence", (dumped(sequences),)).fetchall()
    learned: dict[int, tuple[int, float, float]] = {}
    last = -1
    for sequence in sequences:
        if sequence <= last:
            continue
        row = connection.execute("SELECT through, epoch, size, columns FROM learned WHERE through >= ?"
                                 " ORDER BY through LIMIT 1", (sequence,)).fetchone()
        block = unpacked(*row)
        last = block.through
        for place, number in enumerate(block.sequence.tolist()):
            learned[number] = (int(block.negatives[place, 0]), float(block.scores[place, 0]), float(block.scores[place, 1]))
    works = []
    for sequence, user, item, weight in rows:
        negative, positive_score, negative_score = learned[sequence]
        drawn = negative >= 0
        works.append(ReasonWork(
            sequence=sequence, user=user, item=item, negative=negative << 1 | 1 if drawn else None, weight=weight,
            score_positive=positive_score if drawn else None, score_negative=negative_score if drawn else None))
    return works


def _put_texts(connection: sqlite3.Connection, texts: Sequence[ClientText], sequence: int, at: int) -> None:
    for text in texts:
        ref, version = text.profile.ref, text.profile.version
        newest = one(connection, "SELECT max(version) FROM profile_version WHERE ref = ?", ref) or 0
        if version != newest + 1:
            raise VersionClash(ref)
        connection.execute("INSERT INTO profile_version VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", (
            ref, version, sequence, text.profile.next_id, dumped([_line_row(line) for line in text.profile.lines]),
            dumped([rule.model_dump() for rule in text.filter_memory.rules]), text.watermark, text.dropped, at))


def _put_merged(connection: sqlite3.Connection, merged: Sequence[tuple[Merged, int]]) -> None:
    connection.execute("INSERT INTO merged SELECT value->>0, value->>1, value->>2, value->>3, value->>4, value->>5"
                       " FROM json_each(?)", (dumped([(merge.ref, merge.profile_version, merge.router, merge.router_version,
                                                       merge.outcome, sequence) for merge, sequence in merged]),))


def _put_gradients(connection: sqlite3.Connection, reasoned: Sequence[Reasoned]) -> None:
    connection.execute("INSERT INTO gradient SELECT value->>0, value->>1, value->>2, value->>3, value->>4, value->>5,"
                       " value->>6 FROM json_each(?)", (dumped([
                           (g.sequence, g.module, g.owner, g.writer, g.reward, g.text, g.attributes)
                           for result in reasoned for g in result.gradients]),))


def _line_row(line: Line) -> list[object]:
    return [line.id, line.text, line.attributes, line.weight, line.author,
            [[source.sequence, source.router, source.version] for source in line.sources]]


def _line(row: Sequence[object]) -> Line:
    id_, text, attributes, weight, author, sources = row
    return Line.model_construct(
        id=id_, text=text, attributes=tuple(attributes), weight=weight, author=Author(author),  # type: ignore[arg-type]
        sources=tuple(Source.model_construct(sequence=s, router=r, version=v) for s, r, v in sources))  # type: ignore


def _text_at(connection: sqlite3.Connection, ref: int, sequence: int | None) -> ClientText | None:
    row = connection.execute(
        "SELECT version, next_id, lines, rules, watermark, dropped FROM profile_version WHERE ref = ?"
        " AND (? IS NULL OR sequence <= ?) ORDER BY version DESC LIMIT 1", (ref, sequence, sequence)).fetchone()
    if row is None:
        return None
    return ClientText.model_construct(
        profile=Profile.model_construct(ref=ref, version=row[0], next_id=row[1],
                                        lines=tuple(_line(line) for line in orjson.loads(row[2]))),
        filter_memory=FilterMemory(rules=tuple(FilterRule.model_validate(rule) for rule in orjson.loads(row[3]))),
        watermark=row[4], dropped=row[5])


def _nothing(ref: int) -> ClientText:
    return ClientText(profile=Profile(ref=ref))


def _interaction(row: Sequence[object]) -> InteractionRow:
    names = ("sequence", "event_id", "user", "item", "negative", "time", "weight")
    return InteractionRow.model_validate(dict(zip(names, row, strict=True)))


def _merged(row: Sequence[object]) -> Merged:
    names = ("ref", "profile_version", "router", "router_version", "outcome")
    return Merged.model_validate(dict(zip(names, row, strict=True)))
