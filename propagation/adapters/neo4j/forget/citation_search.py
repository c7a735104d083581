"""The search for stored texts that cite something.

The server returns versions of texts, and this process searches them with the same code as for
SQLite.
"""

import asyncio
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import orjson

from propagation.adapters.neo4j.connection import Neo4jDatabase
from propagation.adapters.neo4j.reason.texts import read_pages, translate_row_errors
from propagation.adapters.shared.text_bodies import decompress_body
from propagation.adapters.shared.version_reader import VersionReader
from propagation.graph_rules import CitationMatcher, Written, find_spans
from propagation.model import CitationSearch, StoredText, group_pairs, split_into_batches

KEYS_PER_READ, CLIENTS_PER_READ = 2_000, 100
VERSIONS_AT_FIRST, VERSIONS_GROWTH, MOST_VERSIONS = 3, 4, 192
"""How many versions of each client a read returns.

The first read returns VERSIONS_AT_FIRST; each next one VERSIONS_GROWTH times as many, up to
MOST_VERSIONS.
"""


async def find_citing_texts(
    database: Neo4jDatabase, searches: Sequence[CitationSearch]
) -> list[StoredText]:
    """Return the texts that searches find (see ErasureStore).

    The versions of a client are read once for all searches of this client.
    """
    matcher = CitationMatcher(searches)
    written = await _find_written(database, searches)
    by_client = group_pairs((search.ref, search) for search in searches)
    gaps = dict(await database.table("forget/search/version_gaps", refs=sorted(written)))
    readers = {
        ref: VersionReader(mine, find_spans(mine, written.get(ref, {}), gaps.get(ref)), matcher)
        for ref, mine in by_client.items()
    }
    texts = await read_pages(
        partial(_search_clients, database, readers), sorted(readers), CLIENTS_PER_READ
    )
    return [texts[key] for key in sorted(texts)]


async def _find_written(
    database: Neo4jDatabase, searches: Sequence[CitationSearch]
) -> dict[int, dict[int, Written]]:
    """Find the versions that were written at the sequences of searches.

    Returns:
        By ref, then sequence: the first version, the last version, and whether the interaction was
        reasoned late.
    """
    keys = {(one.ref, one.at_sequence) for one in searches if one.at_sequence is not None}
    found: defaultdict[int, dict[int, Written]] = defaultdict(dict)
    for batch in split_into_batches(sorted(keys), KEYS_PER_READ):
        for ref, sequence, first, last, late in await database.table(
            "forget/search/versions_written_at", keys=list(map(list, batch))
        ):
            found[ref][sequence] = (first, last, late)
    return found


async def _search_clients(
    database: Neo4jDatabase, readers: Mapping[int, VersionReader], refs: Sequence[int]
) -> dict[tuple[int, int], StoredText]:
    """Search all versions of some clients that their readers ask for."""
    found: list[StoredText] = []
    limit = VERSIONS_AT_FIRST
    while firsts := {
        ref: first for ref in refs if (first := readers[ref].versions.next) is not None
    }:
        rows = await database.table(
            "forget/search/versions_from", searches=list(map(list, firsts.items())), limit=limit
        )
        by_client = group_pairs((row[0], row) for row in rows)
        pages = [(readers[ref], by_client.get(ref, ())) for ref in firsts]
        # On a thread, because the search of a page would hold up the event loop.
        found += await asyncio.to_thread(_search_pages, pages, limit)
        limit = min(limit * VERSIONS_GROWTH, MOST_VERSIONS)
    return {(one.text.profile.ref, one.text.profile.version): one for one in found}


def _search_pages(
    pages: Iterable[tuple[VersionReader, Sequence[Sequence[Any]]]], limit: int
) -> list[StoredText]:
    """Search rows of cypher/forget/search/versions_from.

    Args:
        pages: The reader of each client, with the client's rows.
        limit: The most rows that the query returned of each client; fewer are all that are left.
    """
    found: list[StoredText] = []
    for reader, page in pages:
        complete, rows = len(page) < limit, page
        while (first := reader.versions.next) is not None:
            rows = [row for row in rows if row[1] >= first]
            if not (rows or complete):
                break
            found.extend(reader.find_in(map(_build_version_row, rows), complete=complete))
    return found


def _build_version_row(row: Sequence[Any]) -> Sequence[Any]:
    """Convert a row of cypher/forget/search/versions_from for `VersionReader.find_in`."""
    with translate_row_errors(row):
        *columns, body = row
        return *columns[1:], *orjson.loads(decompress_body(body))
