"""The search for stored texts that cite something.

Profile versions are inflated and searched as bytes, and only those that may cite are parsed. Each
client's versions are read once, whatever is searched, and a line that stays from one version to the
next is parsed once.
"""

import re
import sqlite3
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property, lru_cache

import orjson

from propagation.adapters.shared.erasure import find_ascii_word, holds_name
from propagation.adapters.shared.json_text import escape_words
from propagation.adapters.sqlite.connection import read_one
from propagation.adapters.sqlite.reason.text_bodies import RULE, BodyReader, decompress_body
from propagation.grouping import group_pairs
from propagation.model import Citations, CitationSearch, ClientText, Profile, StoredText

VERSIONS_A_READ = 10_000
FEW = 4
BEYOND_ASCII = "*[^\x01-\x7f]*"
MESSAGE = re.compile(rb"\[null,\d+,\d+\]")
ASCII, MARKS = bytes(range(128)), ("“".encode(), "”".encode())
NUMBER = re.compile(rb"(?:[\[,]|\"age\":)(\d+)(?=[\],}])")
VERSIONS = (
    "SELECT version, next_id, body, watermark, dropped, rewritten FROM profile_version"
    " WHERE ref = ? AND version >= ? ORDER BY version"
)
ENDLESS = 1 << 62
# What was reasoned late was written at the sequence of another interaction; if that was erased, it
# has moved.
WRITTEN_AT = (
    f"SELECT iif(late IS NULL, min(version), 0), iif(late IS NULL, max(version), {ENDLESS}) FROM"
    " (SELECT (SELECT late FROM reasoned WHERE sequence = ?1) AS late) LEFT JOIN profile_version v"
    " INDEXED BY profile_version_sequence ON v.sequence = ?1 AND v.ref = ?2"
)


@dataclass(frozen=True)
class Needles:
    """Byte strings that a body's JSON holds if it cites certain things.

    These are numbers of sources, evidence or ages, words, messages with an attribute (of None: with
    any) or with a word, and words of rules, all words in either case; None finds every body. A body
    may hold one without citing.
    """

    numbers: frozenset[bytes]
    words: tuple[bytes, ...]
    messages: Mapping[bytes, frozenset[bytes] | None] = field(default_factory=dict)
    message_words: tuple[bytes, ...] = ()
    rule_words: tuple[bytes, ...] = ()

    @classmethod
    def of(cls, citings: Iterable[Citations | None]) -> "Needles":
        distinct = list({id(citations): citations for citations in citings}.values())
        known = [citations for citations in distinct if citations is not None]
        if len(known) < len(distinct):
            return cls(frozenset(), (b"",))
        messages = dict[bytes, frozenset[bytes] | None]()
        for citing in known:
            for key, names in citing.messages.items():
                cited = b"[null,%d,%d]" % key
                any_of = messages.get(cited, frozenset())
                messages[cited] = (
                    None
                    if names is None or any_of is None
                    else any_of.union(map(orjson.dumps, names))
                )
        return cls(
            frozenset(b"%d" % number for citations in known for number in citations.sequences),
            _encode_sets(citations.words for citations in known),
            messages,
            _encode_sets(citations.message_words for citations in known),
            _encode_sets(citations.rule_words for citations in known),
        )

    def find_messages_in(self, plain: bytes) -> Collection[bytes]:
        """Return the messages that a body cites, with any attribute.

        Later bodies of the client may cite them with another attribute.
        """
        if len(self.messages) > FEW:
            return self.messages.keys() & MESSAGE.findall(plain)
        return [key for key in self.messages if key in plain]

    def are_in(self, plain: bytes, messages: Collection[bytes] = ()) -> bool:
        """Return whether a body may cite.

        Args:
            messages: The result of `find_messages_in`.
        """
        folded = _fold(plain)
        if any(map(folded.__contains__, self.words)):
            return True
        if messages and self._are_in_lines(plain, folded, messages):
            return True
        if self.rule_words and any(map(self._is_in_rule, folded.split(RULE)[1:])):
            return True
        if not self.numbers or (
            len(self.numbers) <= FEW and not any(map(plain.__contains__, self.numbers))
        ):
            return False
        return not self.numbers.isdisjoint(NUMBER.findall(plain))

    def _are_in_lines(self, plain: bytes, folded: bytes, messages: Collection[bytes]) -> bool:
        """Tell whether a line may cite one of the messages.

        Args:
            folded: The body, case-folded; most hold no word, so they are not parsed.
        """
        if not any(self.messages[key] is None for key in messages) and not any(
            map(folded.__contains__, self._line_words)
        ):
            return False
        for line in map(orjson.dumps, orjson.loads(plain)[0]):
            for key in messages:
                names = self.messages[key]
                if key in line and (
                    names is None
                    or any(map(line.__contains__, names))
                    or any(map(_fold(line).__contains__, self.message_words))
                ):
                    return True
        return False

    @cached_property
    def _line_words(self) -> frozenset[bytes]:
        """Words of which a line that cites a message holds one.

        Messages whose citing lines may hold anything are left out.
        """
        named = (names for names in self.messages.values() if names is not None)
        return frozenset(self.message_words).union(*named)

    @cached_property
    def _is_in_rule(self) -> Callable[[bytes], bool]:
        """Whether a case-folded rule may cite.

        Answers are kept: successive versions often have the same rules.
        """

        @cache
        def is_in_rule(rule: bytes) -> bool:
            return any(map(rule.__contains__, self.rule_words))

        return is_in_rule


def _encode_sets(sets: Iterable[frozenset[str]]) -> tuple[bytes, ...]:
    """Return the case-folded words of all sets as JSON writes them."""
    distinct = {id(words): words for words in sets}  # most are the same object
    return tuple(map(_encode, sorted(frozenset[str]().union(*distinct.values()))))


@lru_cache(4_096)
def _encode(word: str) -> bytes:
    (escaped,) = escape_words([word.casefold()])
    return escaped.encode()


def _fold(plain: bytes) -> bytes:
    """Return case-folded text.

    Most bodies hold nothing beyond ASCII but quotation marks, so ASCII is folded first.
    """
    strange = plain.translate(None, ASCII)
    for mark in MARKS:
        strange = strange.replace(mark, b"")
    return plain.decode().casefold().encode() if strange else plain.lower()


def find_texts_along(
    connection: sqlite3.Connection,
    searches: Sequence[CitationSearch],
    known: dict[tuple[int, ...], Needles],
) -> list[StoredText]:
    """Return the texts that searches find (see ErasureStore).

    Searches of one client are searched together.

    Args:
        known: Needles that earlier calls made of the same objects; what is made is added.
    """
    found: list[StoredText] = []
    by_client = group_pairs((search.ref, search) for search in searches)
    for ref, mine in by_client.items():
        all_spans = [_find_span(connection, search) for search in mine]
        spans = sorted(span for span in all_spans if span is not None)
        if spans:
            asked = tuple(sorted({id(search.citations) for search in mine}))
            if asked not in known:
                known[asked] = Needles.of(search.citations for search in mine)
            found.extend(_read_texts_of(connection, ref, spans, known[asked]))
    return found


def _read_texts_of(
    connection: sqlite3.Connection, ref: int, spans: Sequence[tuple[int, int]], needles: Needles
) -> Iterator[StoredText]:
    newest, reader, last, place = None, BodyReader(), 0, 0
    while place < len(spans):
        for version, next_id, body, watermark, dropped, rewritten in connection.execute(
            VERSIONS, (ref, spans[place][0])
        ):
            while place < len(spans) and spans[place][0] <= version:
                last = max(last, spans[place][1])
                place += 1
            plain = decompress_body(body)
            messages = needles.find_messages_in(plain)
            if needles.are_in(plain, messages):
                newest = newest or read_one(
                    connection, "SELECT max(version) FROM profile_version WHERE ref = ?", ref
                )
                lines, memory = reader.read_parts(plain)
                profile = Profile(ref=ref, version=version, next_id=next_id, lines=lines)
                yield StoredText(
                    ClientText(
                        profile=profile, filter_memory=memory, watermark=watermark, dropped=dropped
                    ),
                    version == newest,
                )
            elif version >= last and not messages and not rewritten:
                break
        else:
            return


def _find_span(connection: sqlite3.Connection, search: CitationSearch) -> tuple[int, int] | None:
    """Return a search's first version, and the last before its end.

    A version from the last on that does not cite ends the search, unless an earlier withdrawal
    rewrote it: it may have lost a citation that later versions have.

    Returns:
        None if there is no version.
    """
    if search.at_sequence is not None:
        first, last = connection.execute(WRITTEN_AT, (search.at_sequence, search.ref)).fetchone()
        return None if first is None else (first, last)
    return (
        (search.from_version, search.from_version)
        if search.from_version is not None
        else (0, ENDLESS)
    )


def find_clients_naming(
    connection: sqlite3.Connection, needles: Needles, after: int
) -> tuple[int, set[int]]:
    """Return the clients whose texts cite, of some rows after one.

    Returns:
        The last row searched, and the clients.
    """
    rows = connection.execute(
        "SELECT rowid, ref, body FROM profile_version WHERE rowid > ? ORDER BY rowid LIMIT ?",
        (after, VERSIONS_A_READ),
    ).fetchall()
    return (rows[-1][0] if rows else after), {
        ref for _, ref, body in rows if needles.are_in(decompress_body(body))
    }


def is_used_by_another(connection: sqlite3.Connection, ref: int, name: str) -> bool:
    """Return whether another client's text holds the name.

    SQLite folds the case of ASCII only, so it searches an ASCII word, and texts beyond ASCII, whose
    letters may be another form of it; the rest is checked here.
    """
    rows = connection.execute(
        "SELECT title, description, attributes, categories FROM (SELECT *, title || ' ' ||"
        " description || ' ' || attributes || ' ' || categories AS text FROM client) WHERE ref <> ?"
        " AND (instr(lower(text), ?) OR text GLOB ?)",
        (ref, find_ascii_word(name), BEYOND_ASCII),
    )
    return any(
        holds_name((title, description, *orjson.loads(attributes), *orjson.loads(categories)), name)
        for title, description, attributes, categories in rows
    )
