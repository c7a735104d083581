"""The search for stored texts that cite something.

The server returns versions of texts, and this process searches them as for SQLite.
"""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from propagation.adapters.neo4j.connection import Neo4jDatabase
from propagation.adapters.neo4j.reason.texts import blame_row, list_parts, read_pages
from propagation.adapters.shared.version_reader import VersionReader
from propagation.graph_rules.citation_search import NOT_WRITTEN, CitationMatcher, find_span
from propagation.grouping import group_pairs
from propagation.model import CitationSearch, StoredText

CLIENTS_PER_READ = 100
VERSIONS_AT_FIRST, VERSIONS_GROWTH = 3, 4
"""How many versions of each client the first read returns; the next return more."""


async def find_citing_texts(
    database: Neo4jDatabase, searches: Sequence[CitationSearch]
) -> list[StoredText]:
    """Return the texts that searches find (see ErasureStore).

    Searches of one client are searched together.
    """
    matcher = CitationMatcher(searches)
    keys = {(one.ref, one.at_sequence) for one in searches if one.at_sequence is not None}
    rows = await database.table("forget/search/versions_at", keys=list(map(list, keys)))
    written = {(ref, sequence): found for ref, sequence, *found in rows}
    readers = {}
    for ref, mine in group_pairs((search.ref, search) for search in searches).items():
        spans = (find_span(one, *written.get((ref, one.at_sequence), NOT_WRITTEN)) for one in mine)
        readers[ref] = VersionReader(mine, spans, matcher)
    texts = await read_pages(
        partial(_search_clients, database, readers), sorted(readers), CLIENTS_PER_READ
    )
    return [texts[key] for key in sorted(texts)]


async def _search_clients(
    database: Neo4jDatabase, readers: Mapping[int, VersionReader], refs: Sequence[int]
) -> dict[tuple[int, int], StoredText]:
    """Search some clients to the end."""
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
        # On a thread: the versions of a page would hold up the event loop.
        found += await asyncio.to_thread(_search_pages, pages, limit)
        limit *= VERSIONS_GROWTH
    return {(one.text.profile.ref, one.text.profile.version): one for one in found}


def _search_pages(
    pages: Iterable[tuple[VersionReader, Sequence[Sequence[Any]]]], limit: int
) -> list[StoredText]:
    return [
        one
        for reader, rows in pages
        for one in reader.find_in(map(_build_version_row, rows), complete=len(rows) < limit)
    ]


def _build_version_row(row: Sequence[Any]) -> Sequence[Any]:
    """Convert a row of cypher/forget/search/versions_from for `VersionReader.find_in`."""
    with blame_row(row):
        return *row[1:5], *row[16:], *list_parts(row)
