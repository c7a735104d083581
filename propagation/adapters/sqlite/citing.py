"""Which stored texts cite something: profile versions are inflated and looked through as bytes, and only those that may cite are
parsed."""

import re
import sqlite3
from collections.abc import Iterator, Sequence

import orjson

from propagation.adapters.naming import ascii_word, says
from propagation.adapters.sqlite.bodies import parts_of, plain_body
from propagation.model.profile import Profile
from propagation.model.text import ClientText
from propagation.model.withdrawal import Citing, StoredText, Trail

VERSIONS_A_READ = 10_000
NOTHING = rb"(?!)"
NEWEST = "SELECT max(version) FROM profile_version WHERE ref = ?"
VERSIONS = ("SELECT version, next_id, body, watermark, dropped FROM profile_version WHERE ref = ? AND version >= ?"
            " ORDER BY version")
WRITTEN_AT = ("SELECT min(version), max(version) FROM profile_version INDEXED BY profile_version_sequence WHERE sequence ="
              " coalesce((SELECT late FROM reasoned WHERE sequence = ?1), ?1) AND ref = ?2")


def pattern_of(citing: Citing | None) -> "re.Pattern[bytes]":
    """What the JSON of a body holds where it cites one of these: a number of a source or of a rule's evidence, a message, a
    word; None: it cites whatever it holds. It may hold it without citing."""
    if citing is None:
        return re.compile(b"")
    parts = []
    if citing.sequences:
        parts.append(b"[\\[,](?:%s)[\\],]" % b"|".join(b"%d" % sequence for sequence in sorted(citing.sequences)))
    parts += [re.escape(b"[null,%d,%d]" % key) for key in sorted(citing.messages)]
    parts += [re.escape(orjson.dumps(word)[1:-1]) for word in sorted(citing.words)]
    return re.compile(b"|".join(parts) or NOTHING)


def texts_along(connection: sqlite3.Connection, trails: Sequence[Trail]) -> Iterator[StoredText]:
    """See ErasureStore.texts_citing; a version may come more than once."""
    newest: dict[int, int] = {}
    for trail in trails:
        first, last = _beginning(connection, trail)
        if first is None:
            continue
        if trail.ref not in newest:
            (newest[trail.ref],) = connection.execute(NEWEST, (trail.ref,)).fetchone()
        cites = pattern_of(trail.citing)
        for version, next_id, body, watermark, dropped in connection.execute(VERSIONS, (trail.ref, first)):
            if cites.search(plain_body(body)):
                lines, memory = parts_of(body)
                profile = Profile(ref=trail.ref, version=version, next_id=next_id, lines=lines)
                yield StoredText(ClientText(profile=profile, filter_memory=memory, watermark=watermark, dropped=dropped),
                                 version == newest[trail.ref])
            elif last is not None and version > last:
                break


def _beginning(connection: sqlite3.Connection, trail: Trail) -> tuple[int | None, int | None]:
    """(first version, version after which one that does not cite ends it; None: nothing does)."""
    if trail.at is not None:
        first, last = connection.execute(WRITTEN_AT, (trail.at, trail.ref)).fetchone()
        return first, last
    return (trail.version, trail.version) if trail.version is not None else (0, None)


def naming(connection: sqlite3.Connection, cites: "re.Pattern[bytes]", after: int) -> tuple[int, set[int]]:
    """(last row looked at, clients whose texts cite) of some rows after one."""
    rows = connection.execute("SELECT rowid, ref, body FROM profile_version WHERE rowid > ? ORDER BY rowid LIMIT ?",
                              (after, VERSIONS_A_READ)).fetchall()
    return (rows[-1][0] if rows else after), {ref for _, ref, body in rows if cites.search(plain_body(body))}


def is_said(connection: sqlite3.Connection, ref: int, name: str) -> bool:
    """SQLite folds the case of ASCII only, so it looks for a word of that, and the rest is asked here."""
    word = ascii_word(name)
    rows = connection.execute(
        "SELECT title, description, attributes, categories FROM client WHERE ref <> ? AND instr(lower("
        "title || ' ' || description || ' ' || attributes || ' ' || categories), ?)", (ref, word))
    for title, description, attributes, categories in rows:
        if says((title, description, *orjson.loads(attributes), *orjson.loads(categories)), name):
            return True
    return False
