"""The search for stored texts that cite something.

Each client's versions are read once for all searches. A line or rule that stays from one version to
the next is parsed and searched once.
"""

import sqlite3
from collections.abc import Iterator, Sequence

import orjson

from propagation.adapters.shared.erasure import find_ascii_word, holds_name
from propagation.adapters.shared.text_bodies import decompress_body, holds_word
from propagation.adapters.shared.version_reader import VersionReader
from propagation.adapters.sqlite.forget.retention import OLDEST_KEPT
from propagation.graph_rules import CitationMatcher, find_spans
from propagation.model import CitationSearch, StoredText, group_pairs

VERSIONS_A_READ = 10_000
BEYOND_ASCII = "*[^\x01-\x7f]*"
VERSIONS = (
    "SELECT version, next_id, watermark, dropped, rewritten & 1,"
    " version = (SELECT max(version) FROM profile_version WHERE ref = ?1), body"
    " FROM profile_version WHERE ref = ?1 AND version >= ?2 ORDER BY version"
)
WRITTEN_AT = (
    "SELECT min(version), max(version), (SELECT late FROM reasoned WHERE sequence = ?1) IS NOT NULL"
    " FROM profile_version INDEXED BY profile_version_sequence WHERE sequence = ?1 AND ref = ?2"
)
REPLACED = (
    "WITH shown AS MATERIALIZED (SELECT ref, max(version) AS version FROM profile_version"
    " INDEXED BY profile_version_sequence WHERE sequence <= ? GROUP BY ref)"
    " SELECT v.ref, v.body FROM shown s CROSS JOIN profile_version v"
    " ON v.ref = s.ref AND v.version < s.version"
)
AFTER_GAP = (
    "SELECT version FROM profile_version v WHERE (SELECT value FROM progress WHERE name ="
    f" '{OLDEST_KEPT}') > 0 AND ref = ? AND version > 1 AND NOT EXISTS (SELECT 1 FROM"
    " profile_version b WHERE b.ref = v.ref AND b.version = v.version - 1)"
    " ORDER BY version DESC LIMIT 1"
)


def search_texts(
    connection: sqlite3.Connection, searches: Sequence[CitationSearch], matcher: CitationMatcher
) -> list[StoredText]:
    """Return the texts that searches find (see ErasureStore).

    All searches of one client are done together.

    Args:
        matcher: Made of these searches, or of these and more.
    """
    found: list[StoredText] = []
    for ref, mine in group_pairs((search.ref, search) for search in searches).items():
        reader = VersionReader(mine, _find_spans(connection, ref, mine), matcher)
        while (first := reader.versions.next) is not None:
            found.extend(reader.find_in(_read_versions(connection, ref, first), complete=True))
    return found


def _read_versions(
    connection: sqlite3.Connection, ref: int, first: int
) -> Iterator[Sequence[object]]:
    for *columns, body in connection.execute(VERSIONS, (ref, first)):
        yield *columns, *orjson.loads(decompress_body(body))


def _find_spans(
    connection: sqlite3.Connection, ref: int, searches: Sequence[CitationSearch]
) -> list[tuple[int, int]]:
    sequences = [one.at_sequence for one in searches if one.at_sequence is not None]
    if not sequences:
        return find_spans(searches, {}, None)
    written = {at: connection.execute(WRITTEN_AT, (at, ref)).fetchone() for at in sequences}
    gap = connection.execute(AFTER_GAP, (ref,)).fetchone()
    return find_spans(searches, written, gap and gap[0])


def find_clients_naming(
    connection: sqlite3.Connection, words: Sequence[bytes], after: int
) -> tuple[int, set[int]]:
    """Find clients whose texts hold a word, among VERSIONS_A_READ rows.

    Args:
        words: Words as `encode_words` returns them.
        after: Search the rows after this rowid.

    Returns:
        The last rowid that was searched (`after` if no row is left), and the clients' refs.
    """
    rows = connection.execute(
        "SELECT rowid, ref, body FROM profile_version WHERE rowid > ? ORDER BY rowid LIMIT ?",
        (after, VERSIONS_A_READ),
    ).fetchall()
    return (rows[-1][0] if rows else after), {
        ref for _, ref, body in rows if holds_word(body, words)
    }


def find_replaced_naming(
    connection: sqlite3.Connection, words: Sequence[bytes], by: int
) -> frozenset[int]:
    """Find clients with a replaced text that holds a word."""
    return frozenset(
        ref for ref, body in connection.execute(REPLACED, (by,)) if holds_word(body, words)
    )


def is_used_by_another(connection: sqlite3.Connection, ref: int, name: str) -> bool:
    """Return whether another client's own text holds the name.

    SQLite folds the case of ASCII letters only. So the query finds all texts that hold an ASCII
    word of the name or any letter beyond ASCII; then `holds_name` decides.
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
