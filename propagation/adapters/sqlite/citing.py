"""Which stored texts cite something: profile versions are inflated and looked through as bytes, and only those that may cite are
parsed. Each client's versions are read once, whatever they are looked through for, and lines that stay from one version to the
next are parsed once."""

import re
import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import orjson

from propagation.adapters.naming import ascii_word, says
from propagation.adapters.sqlite.bodies import BodyReader, plain_body
from propagation.model.profile import Profile
from propagation.model.text import ClientText
from propagation.model.withdrawal import Citing, StoredText, Trail

VERSIONS_A_READ = 10_000
NUMBER = re.compile(rb"[\[,](\d+)(?=[\],])")
NEWEST = "SELECT max(version) FROM profile_version WHERE ref = ?"
VERSIONS = ("SELECT version, next_id, body, watermark, dropped FROM profile_version WHERE ref = ? AND version >= ?"
            " ORDER BY version")
WRITTEN_AT = ("SELECT min(version), max(version) FROM profile_version INDEXED BY profile_version_sequence WHERE sequence ="
              " coalesce((SELECT late FROM reasoned WHERE sequence = ?1), ?1) AND ref = ?2")
ENDLESS = 1 << 62


@dataclass(frozen=True)
class Needles:
    """What the JSON of a body holds where it cites one of these: a number of a source or of a rule's evidence, a message, a
    word; of None everything. It may hold it without citing."""

    numbers: frozenset[bytes]
    parts: tuple[bytes, ...]

    @classmethod
    def of(cls, citings: Iterable[Citing | None]) -> "Needles":
        numbers, messages = set[int](), set[tuple[int, int]]()
        shared = {}
        for citing in citings:
            if citing is None:
                return cls(frozenset(), (b"",))
            numbers |= citing.sequences
            messages |= citing.messages
            shared[id(citing.words)] = citing.words
        words = frozenset[str]().union(*shared.values())
        return cls(frozenset(b"%d" % number for number in numbers),
                   (*(b"[null,%d,%d]" % key for key in sorted(messages)), *(orjson.dumps(word)[1:-1] for word in sorted(words))))

    def are_in(self, plain: bytes) -> bool:
        if self.numbers and not self.numbers.isdisjoint(NUMBER.findall(plain)):
            return True
        return any(map(plain.__contains__, self.parts))


def texts_along(connection: sqlite3.Connection, trails: Sequence[Trail]) -> Iterator[StoredText]:
    """See ErasureStore.texts_citing. Of trails of one client, what any of them looks for is looked for along all of them."""
    by_client: dict[int, list[Trail]] = defaultdict(list)
    for trail in trails:
        by_client[trail.ref].append(trail)
    for ref, mine in by_client.items():
        spans = sorted(span for trail in mine if (span := _span(connection, trail)) is not None)
        if spans:
            yield from _texts_of(connection, ref, spans, Needles.of(trail.citing for trail in mine))


def _texts_of(connection: sqlite3.Connection, ref: int, spans: Sequence[tuple[int, int]], needles: Needles) -> Iterator[StoredText]:
    (newest,) = connection.execute(NEWEST, (ref,)).fetchone()
    reader, last, place = BodyReader(), 0, 0
    while place < len(spans):
        for version, next_id, body, watermark, dropped in connection.execute(VERSIONS, (ref, spans[place][0])):
            while place < len(spans) and spans[place][0] <= version:
                last = max(last, spans[place][1])
                place += 1
            plain = plain_body(body)
            if needles.are_in(plain):
                lines, memory = reader.parts_of(plain)
                profile = Profile(ref=ref, version=version, next_id=next_id, lines=lines)
                yield StoredText(ClientText(profile=profile, filter_memory=memory, watermark=watermark, dropped=dropped),
                                 version == newest)
            elif version > last:
                break
        else:
            return


def _span(connection: sqlite3.Connection, trail: Trail) -> tuple[int, int] | None:
    """(first version, version after which one that does not cite ends it); None: there is no version."""
    if trail.at is not None:
        first, last = connection.execute(WRITTEN_AT, (trail.at, trail.ref)).fetchone()
        return None if first is None else (first, last)
    return (trail.version, trail.version) if trail.version is not None else (0, ENDLESS)


def naming(connection: sqlite3.Connection, needles: Needles, after: int) -> tuple[int, set[int]]:
    """(last row looked at, clients whose texts cite) of some rows after one."""
    rows = connection.execute("SELECT rowid, ref, body FROM profile_version WHERE rowid > ? ORDER BY rowid LIMIT ?",
                              (after, VERSIONS_A_READ)).fetchall()
    return (rows[-1][0] if rows else after), {ref for _, ref, body in rows if needles.are_in(plain_body(body))}


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
