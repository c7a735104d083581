"""Texts of clients: rows of profile versions."""

import asyncio
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from propagation.adapters.shared.text_bodies import BodyEncoder, read_parts
from propagation.adapters.shared.upper_bounds import get_bound
from propagation.adapters.sqlite.connection import SqlitePart, read_many, read_one, reads, to_json
from propagation.adapters.sqlite.index.outbox import put_texts_out
from propagation.graph_rules import check_texts_follow
from propagation.model import ClientText, DatedText, MessageMerge, NumberedText, Profile

FOLLOWS_GAP = 2
"""Bit of a version's `rewritten`: retention dropped the version before it.

An erasure also moved the version, to a sequence that retention may still keep.
"""
TEXT_ROWS = 8
TEXTS_AT_ONCE = 8
TEXT = "json_array(v.ref, v.version, v.next_id, hex(v.body), v.watermark, v.dropped)"
PUT_TEXTS = (
    "INSERT INTO profile_version (rowid, ref, version, sequence, next_id, body, watermark, "
    "dropped, at, written_by)"
    " SELECT ?4 + key, value->>0, value->>1, value->>2, value->>3, substr(?2, value->>6, "
    "value->>7), value->>4,"
    " value->>5, ?3, ?5 FROM json_each(?1)"
)


class SqliteTexts(SqlitePart):
    """Stores the texts of clients as versions, and reads them."""

    async def load_texts(self, refs: Sequence[int]) -> Mapping[int, ClientText]:
        return await self._database.read(
            lambda connection: read_texts_or_empty(connection, refs), TEXT_ROWS * len(refs)
        )

    async def get_text_versions(self, refs: Sequence[int] | None = None) -> Mapping[int, int]:
        if refs is None:
            return await self._database.read(_read_all_versions)
        return await self._database.read(
            lambda connection: read_newest_versions(connection, refs), len(refs)
        )

    @reads
    def get_text_at(
        self, connection: sqlite3.Connection, ref: int, sequence: int
    ) -> ClientText | None:
        found = build_texts_from(
            connection,
            "(SELECT * FROM profile_version WHERE ref = ? AND sequence <= ?"
            " ORDER BY version DESC LIMIT 1) v",
            ref,
            sequence,
        )
        return found[0] if found else None

    @reads
    def get_texts_of_versions(
        self, connection: sqlite3.Connection, versions: Sequence[tuple[int, int]]
    ) -> Mapping[tuple[int, int], ClientText]:
        found = build_texts_from(
            connection,
            "json_each(?) e CROSS JOIN profile_version v"
            " ON v.ref = e.value->>0 AND v.version = e.value->>1",
            to_json(sorted(set(versions))),
        )
        return {(text.profile.ref, text.profile.version): text for text in found}

    @reads
    def get_text_history(
        self, connection: sqlite3.Connection, ref: int, limit: int, before: int | None = None
    ) -> Sequence[DatedText]:
        return [
            DatedText(build_text((*row[:3], row[3].hex(), *row[4:6])), *row[6:])
            for row in connection.execute(
                "SELECT ref, version, next_id, body, watermark, dropped, sequence, at,"
                " coalesce(written_by, '') FROM profile_version WHERE ref = ? AND version < ?"
                " ORDER BY version DESC LIMIT ?",
                (ref, get_bound(before), limit),
            )
        ]

    @reads
    def get_merges_into(
        self, connection: sqlite3.Connection, ref: int, versions: Sequence[int]
    ) -> Sequence[MessageMerge]:
        return [
            MessageMerge(*row)
            for row in connection.execute(
                "SELECT m.ref, m.profile_version, m.router, m.router_version, m.outcome FROM"
                " json_each(?) e CROSS JOIN merged m INDEXED BY merged_ref ON m.ref = ? AND"
                " m.profile_version = e.value ORDER BY m.profile_version, m.router, m.number",
                (to_json(sorted(set(versions))), ref),
            )
        ]

    async def get_texts_through(self) -> int:
        return await self._database.read(get_texts_through)

    @reads
    def get_texts_after(
        self, connection: sqlite3.Connection, number: int, limit: int
    ) -> Sequence[NumberedText]:
        return [
            NumberedText(*row)
            for row in connection.execute(
                "SELECT rowid, ref, version FROM profile_version WHERE rowid > ? ORDER BY "
                "rowid LIMIT ?",
                (number, limit),
            )
        ]


async def pack_bodies(texts: Sequence[ClientText]) -> list[bytes]:
    """Pack the bodies of texts, before the transaction.

    More than TEXTS_AT_ONCE texts are packed on a thread: compression is most of the work, and does
    not hold the interpreter lock.
    """
    return (
        pack_bodies_now(texts)
        if len(texts) <= TEXTS_AT_ONCE
        else await asyncio.to_thread(pack_bodies_now, texts)
    )


def pack_bodies_now(texts: Sequence[ClientText]) -> list[bytes]:
    """Pack the bodies of texts on this thread."""
    encoder = BodyEncoder()
    return [
        encoder.encode(
            text.profile.lines, text.filter_memory.rules, text.profile.ref, text.profile.version
        )
        for text in texts
    ]


@dataclass(frozen=True)
class TextRows:
    """Texts in the form that PUT_TEXTS takes.

    Attributes:
        versions: (ref, version) of each text.
        rows: The rows as JSON.
        bodies: The bodies in order, joined.
    """

    versions: Sequence[tuple[int, int]]
    rows: str
    bodies: bytes


def build_text_rows(texts: Sequence[tuple[ClientText, int]], bodies: Sequence[bytes]) -> TextRows:
    """Build the rows of texts (text, sequence) from their packed bodies."""
    ends = accumulate(map(len, bodies))
    rows = [
        (
            text.profile.ref,
            text.profile.version,
            sequence,
            text.profile.next_id,
            text.watermark,
            text.dropped,
            end - len(body) + 1,
            len(body),
        )
        for (text, sequence), body, end in zip(texts, bodies, ends, strict=True)
    ]
    return TextRows([(row[0], row[1]) for row in rows], to_json(rows), b"".join(bodies))


def put_texts(
    connection: sqlite3.Connection, texts: TextRows, at: int, written_by: str = ""
) -> None:
    """Insert texts, and put them into the outbox.

    Args:
        at: Commit time in milliseconds since 1970.
        written_by: For texts outside an interaction, what wrote them (Usage.author).

    Raises:
        VersionClash: A text does not follow the stored version, or its client was forgotten.
    """
    if not texts.versions:
        return
    refs = sorted({ref for ref, _ in texts.versions})
    forgotten = read_many(
        connection,
        "SELECT json_group_array(e.value) FROM json_each(?) e WHERE e.value NOT IN (SELECT ref FROM"
        " client) AND (e.value >> 1) < (SELECT value FROM progress WHERE name = 'refs_given_' ||"
        " (e.value & 1))",
        to_json(refs),
    )
    newest = dict.fromkeys(set(refs).difference(forgotten), 0) | read_newest_versions(
        connection, refs
    )
    check_texts_follow(texts.versions, newest)
    count = len(texts.versions)
    through = read_one(
        connection,
        "INSERT INTO progress VALUES ('texts', ?1 + ?2) ON CONFLICT (name) DO UPDATE"
        " SET value = value + ?2 RETURNING value",
        get_texts_through(connection),
        count,
    )
    connection.execute(
        PUT_TEXTS, (texts.rows, texts.bodies, at, through - count + 1, written_by or None)
    )
    put_texts_out(connection, dict(texts.versions), at)


def get_texts_through(connection: sqlite3.Connection) -> int:
    """Return the number of the last committed text.

    It is the rowid. A compaction may lower the rowids of older texts, but nothing asks for those
    again.
    """
    return int(
        read_one(
            connection,
            "SELECT max(coalesce((SELECT value FROM progress WHERE name = 'texts'), 0),"
            " coalesce((SELECT max(rowid) FROM profile_version), 0))",
        )
    )


def read_newest_versions(connection: sqlite3.Connection, refs: Sequence[int]) -> dict[int, int]:
    """Return the current version of each of these clients that has one."""
    return {
        ref: version
        for ref, version in read_many(
            connection,
            "SELECT json_group_array(json_array(e.value, (SELECT max(version) FROM "
            "profile_version WHERE ref = e.value)))"
            " FROM json_each(?) e",
            to_json(list(refs)),
        )
        if version is not None
    }


def _read_all_versions(connection: sqlite3.Connection) -> dict[int, int]:
    """Return the current version of every client that has one."""
    return dict(
        read_many(
            connection,
            "SELECT json_group_array(json_array(ref, version)) FROM (SELECT c.ref AS ref, (SELECT"
            " max(v.version) FROM profile_version v WHERE v.ref = c.ref) AS version FROM client c)"
            " WHERE version IS NOT NULL",
        )
    )


def read_texts_or_empty(
    connection: sqlite3.Connection, refs: Sequence[int]
) -> dict[int, ClientText]:
    """Return the current text of each client, by ref.

    A client without a text has an empty one.
    """
    texts = build_texts_from(
        connection,
        "json_each(?) e CROSS JOIN profile_version v ON v.ref = e.value"
        " AND v.version = (SELECT max(version) FROM profile_version WHERE ref = e.value)",
        to_json(sorted(set(refs))),
    )
    found = {text.profile.ref: text for text in texts}
    return {ref: found.get(ref) or ClientText.empty(ref) for ref in refs}


def build_texts_from(
    connection: sqlite3.Connection, source: str, *parameters: object
) -> list[ClientText]:
    """Return the texts of rows `v` of profile_version.

    Args:
        source: The SQL after FROM.
        parameters: The query's parameters.
    """
    return [
        build_text(row)
        for row in read_many(
            connection, f"SELECT json_group_array({TEXT}) FROM {source}", *parameters
        )
    ]


def build_text(row: Sequence[Any]) -> ClientText:
    """Build a client's text from a row of the columns TEXT."""
    ref, version, next_id, body, watermark, dropped = row
    lines, memory = read_parts(bytes.fromhex(body))
    return ClientText(
        profile=Profile(ref=ref, version=version, next_id=next_id, lines=lines),
        filter_memory=memory,
        watermark=watermark,
        dropped=dropped,
    )
