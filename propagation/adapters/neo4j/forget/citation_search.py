"""The search for stored texts that cite something.

The server returns versions of texts, and this process searches them with the same code as for
SQLite.
"""

import asyncio
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from propagation.adapters.neo4j.connection import Neo4jDatabase
from propagation.adapters.neo4j.reason.text_reader import (
    ATTEMPTS,
    read_pages,
    translate_row_errors,
)
from propagation.adapters.shared.text_bodies import is_difference
from propagation.adapters.shared.version_reader import VersionReader
from propagation.adapters.shared.versions.version_bodies import (
    VersionDecoder,
    find_first_of_group,
)
from propagation.graph_rules import CitationMatcher, Written, find_spans
from propagation.model import (
    CitationSearch,
    StoreCorrupt,
    StoredText,
    group_pairs,
    split_into_batches,
)

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
    """Search all versions of some clients that their readers ask for.

    A commit may be visible in part, so that a version lacks one that it builds on. Then wait for
    the commit, and read on from that version.
    """
    found: list[StoredText] = []
    limit = VERSIONS_AT_FIRST
    attempts = Counter[tuple[int, int]]()
    while firsts := {
        ref: first for ref in refs if (first := readers[ref].versions.next) is not None
    }:
        rows = await database.table(
            "forget/search/versions_from",
            searches=[[*one, max(find_first_of_group(one[1]), 0)] for one in firsts.items()],
            limit=limit,
        )
        by_client = group_pairs((row[0], row) for row in rows)
        pages = [(readers[ref], by_client.get(ref, ())) for ref in firsts]
        # On a thread, because the search of a page would hold up the event loop.
        errors = await asyncio.to_thread(_search_pages, pages, limit, found)
        for key, error in errors.items():
            attempts[key] += 1
            if attempts[key] == ATTEMPTS:
                raise error
        if errors:
            await database.execute(
                "reason/texts/lock_clients", refs=sorted({ref for ref, _ in errors})
            )
        limit = min(limit * VERSIONS_GROWTH, MOST_VERSIONS)
    return {(one.text.profile.ref, one.text.profile.version): one for one in found}


def _search_pages(
    pages: Iterable[tuple[VersionReader, Sequence[Sequence[Any]]]],
    limit: int,
    found: list[StoredText],
) -> dict[tuple[int, int], StoreCorrupt]:
    """Search rows of cypher/forget/search/versions_from.

    Args:
        pages: The reader of each client, with the client's rows.
        limit: The most rows that the query returned of each client, but for those before the first
            asked version; fewer are all that are left.
        found: Gets the texts that the searches find.

    Returns:
        The error of each version that cannot be read, by client and version.
    """
    errors: dict[tuple[int, int], StoreCorrupt] = {}
    for reader, page in pages:
        rows = sorted(page, key=lambda row: row[1])
        asked = sum(row[1] >= (reader.versions.next or 0) for row in rows)
        complete = asked < limit
        try:
            while (first := reader.versions.next) is not None:
                start = bisect_left(rows, first, key=lambda row: row[1])
                if start == len(rows) and not complete:
                    break
                found.extend(reader.find_in(_decode_from(rows, start), complete=complete))
        except StoreCorrupt as error:
            errors[rows[0][0], reader.versions.next or 0] = error
    return errors


def _decode_from(rows: Sequence[Sequence[Any]], start: int) -> Iterator[Sequence[Any]]:
    """Decode rows of cypher/forget/search/versions_from for `VersionReader.find_in`.

    What a withdrawal changed in one version it may have changed in those that build on it, too.

    Args:
        rows: Ascending versions of one client.
        start: The first row to yield.
    """
    decoder = VersionDecoder()
    first = start
    while 0 < first < len(rows) and _builds_on_another(rows[first]):
        first -= 1
    rewritten = False
    for place, row in enumerate(rows[first:], first):
        ref, version, next_id, watermark, dropped, is_rewritten, current, body = row
        with translate_row_errors([ref, version]):
            lines, rules = decoder.decode_rows(version, body)
        rewritten = is_rewritten or (rewritten and is_difference(body))
        if place >= start:
            yield version, next_id, watermark, dropped, rewritten, current, lines, rules


def _builds_on_another(row: Sequence[Any]) -> bool:
    return row[-1] is not None and is_difference(row[-1])
