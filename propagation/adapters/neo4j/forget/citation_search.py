"""The search for stored texts that cite something.

The server returns versions of texts, and this process searches them as for SQLite.
"""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from propagation.adapters.neo4j.connection import Neo4jDatabase
from propagation.adapters.neo4j.reason.texts import blame_row, list_parts, read_pages
from propagation.adapters.shared.version_reader import VersionReader, VersionRow
from propagation.graph_rules.citation_search import CitationMatcher, find_span
from propagation.grouping import group_pairs
from propagation.model import CitationSearch, StoredText

CLIENTS_PER_READ = 100
VERSIONS_AT_FIRST, VERSIONS_GROWTH = 3, 4
"""How many versions of each client the first read returns; the next return more."""
Key = tuple[int, int]


async def find_citing_texts(
    database: Neo4jDatabase, searches: Sequence[CitationSearch]
) -> list[StoredText]:
    """Return the texts that searches find (see ErasureStore).

    Searches of one client are searched together.
    """
    matcher = CitationMatcher(one.citations for one in searches if one.citations is not None)
    written = await _find_written(database, searches)
    by_client = group_pairs((search.ref, search) for search in searches)
    readers = {}
    for ref, mine in by_client.items():
        spans = [_find_span(search, written) for search in mine]
        readers[ref] = VersionReader(
            ref,
            [span for span in spans if span is not None],
            [search.citations for search in mine],
            matcher,
        )

    async def read(refs: Sequence[int]) -> dict[Key, StoredText]:
        return await _search_clients(database, {ref: readers[ref] for ref in refs})

    found = await read_pages(read, sorted(readers), CLIENTS_PER_READ)
    return [found[key] for key in sorted(found)]


async def _find_written(
    database: Neo4jDatabase, searches: Sequence[CitationSearch]
) -> dict[Key, tuple[int | None, int, bool]]:
    """Return what was written at each search's sequence.

    Returns:
        By (ref, sequence): the first version or None, the last one, and whether the interaction was
        reasoned late.
    """
    keys = {(one.ref, one.at_sequence) for one in searches if one.at_sequence is not None}
    if not keys:
        return {}
    rows = await database.table("forget/search/versions_at", keys=[list(key) for key in keys])
    return {(ref, sequence): (first, last, late) for ref, sequence, first, last, late in rows}


def _find_span(
    search: CitationSearch, written: Mapping[Key, tuple[int | None, int, bool]]
) -> Key | None:
    if search.at_sequence is None:
        return find_span(search, None, late=False)
    first, last, late = written[search.ref, search.at_sequence]
    return find_span(search, None if first is None else (first, last), late=late)


async def _search_clients(
    database: Neo4jDatabase, readers: Mapping[int, VersionReader]
) -> dict[Key, StoredText]:
    """Search clients, by ref, to the end."""
    found: dict[Key, StoredText] = {}
    limit = VERSIONS_AT_FIRST
    while searches := [
        (ref, reader.versions.next)
        for ref, reader in readers.items()
        if reader.versions.next is not None
    ]:
        rows = await database.table("forget/search/versions_from", searches=searches, limit=limit)
        # On a thread: the versions of a page would hold up the event loop.
        found |= await asyncio.to_thread(_search_page, readers, searches, rows, limit)
        limit *= VERSIONS_GROWTH
    return found


def _search_page(
    readers: Mapping[int, VersionReader],
    searches: Sequence[tuple[int, int]],
    rows: Sequence[Sequence[Any]],
    limit: int,
) -> dict[Key, StoredText]:
    """Search the rows of cypher/forget/search/versions_from."""
    by_client = group_pairs((row[0], row) for row in rows)
    found = {}
    for ref, _ in searches:
        mine = by_client.get(ref, ())
        versions = map(_build_version_row, mine)
        for one in readers[ref].find_in(versions, complete=len(mine) < limit):
            found[ref, one.text.profile.version] = one
    return found


def _build_version_row(row: Sequence[Any]) -> VersionRow:
    _, version, next_id, watermark, dropped, *_, rewritten, current = row
    with blame_row(row):
        line_rows, rule_rows = list_parts(row)
    return VersionRow(
        version, next_id, watermark, dropped, rewritten, current, line_rows, rule_rows
    )
