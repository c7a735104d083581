"""The search for stored texts that cite something.

The server returns versions of texts, and this process searches them as for SQLite.
"""

import asyncio
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from propagation.adapters.neo4j.connection import Neo4jDatabase
from propagation.adapters.neo4j.reason.texts import blame_row, list_parts, read_pages
from propagation.adapters.shared.version_reader import VersionReader
from propagation.graph_rules.citation_search import CitationMatcher, Written, find_spans
from propagation.grouping import group_pairs, split_into_batches
from propagation.model import CitationSearch, StoredText

KEYS_PER_READ, CLIENTS_PER_READ = 2_000, 100
VERSIONS_AT_FIRST, VERSIONS_GROWTH, MOST_VERSIONS = 3, 4, 192
"""How many versions of each client the first read returns; the next return more, up to the most."""


async def find_citing_texts(
    database: Neo4jDatabase, searches: Sequence[CitationSearch]
) -> list[StoredText]:
    """Return the texts that searches find (see ErasureStore).

    Searches of one client are searched together.
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
    """Return what was written at the searches' sequences, by client and sequence."""
    keys = {(one.ref, one.at_sequence) for one in searches if one.at_sequence is not None}
    found: defaultdict[int, dict[int, Written]] = defaultdict(dict)
    for batch in split_into_batches(sorted(keys), KEYS_PER_READ):
        for ref, sequence, first, last, late in await database.table(
            "forget/search/versions_at", keys=list(map(list, batch))
        ):
            found[ref][sequence] = (first, last, late)
    return found


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
        limit = min(limit * VERSIONS_GROWTH, MOST_VERSIONS)
    return {(one.text.profile.ref, one.text.profile.version): one for one in found}


def _search_pages(
    pages: Iterable[tuple[VersionReader, Sequence[Sequence[Any]]]], limit: int
) -> list[StoredText]:
    """Search the rows of cypher/forget/search/versions_from, at most so many of each client."""
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
    with blame_row(row):
        return *row[1:5], *row[16:], *list_parts(row)
