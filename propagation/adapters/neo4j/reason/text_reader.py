"""Reads texts of stored versions from the bodies of their groups."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, Protocol, TypeVar

from propagation.adapters.neo4j.connection import Neo4jDatabase
from propagation.adapters.shared.versions.version_bodies import (
    VERSIONS_PER_GROUP,
    VersionDecoder,
    find_first_of_group,
)
from propagation.model import ClientText, DamagedText, StoreCorrupt

Key = TypeVar("Key")
Request = TypeVar("Request")
Found = TypeVar("Found")
TEXTS_PER_READ, CONCURRENT_READS = 500, 2
ATTEMPTS = 3


class Source(Protocol):
    """A database or a transaction, from which texts are read."""

    async def table(self, name: str, /, **parameters: object) -> list[list[Any]]:
        """Return the rows that a statement collects into one record."""

    async def execute(self, name: str, /, **parameters: object) -> None:
        """Run a statement and ignore its rows."""


async def read_current_texts(
    database: Neo4jDatabase, refs: Collection[int]
) -> dict[int, ClientText]:
    """Read the current text of each client that has one.

    Raises:
        StoreCorrupt: A current version is missing, or cannot be read.
    """
    return await read_pages(
        partial(read_page_of_current_texts, database), sorted(set(refs)), TEXTS_PER_READ
    )


async def read_stored_texts(
    database: Neo4jDatabase, versions: Collection[tuple[int, int]]
) -> dict[tuple[int, int], ClientText]:
    """Read versions of texts, by client and version.

    Versions that are not stored are left out.

    Raises:
        StoreCorrupt: A version cannot be read.
    """
    return await read_pages(
        partial(read_page_of_versions, database), sorted(set(versions)), TEXTS_PER_READ
    )


async def read_page_of_current_texts(source: Source, refs: Sequence[int]) -> dict[int, ClientText]:
    """Read current texts by one statement, as `read_current_texts` does."""

    async def read(refs: Sequence[int]) -> list[list[Any]]:
        return await source.table(
            "reason/texts/current_texts", refs=list(refs), group=VERSIONS_PER_GROUP
        )

    def build(row: Sequence[Any]) -> dict[int, ClientText]:
        ref, version, rows = row
        texts = build_texts(ref, rows, {version})
        if not texts:
            raise StoreCorrupt(
                f"client {ref}: version {version} of its profile, the current one, is missing;"
                " restore the database from a back-up"
            )
        return {ref: texts[0]}

    return await read_until_complete(source, refs, read, build)


async def read_page_of_versions(
    source: Source, keys: Sequence[tuple[int, int]]
) -> dict[tuple[int, int], ClientText]:
    """Read versions by one statement, as `read_stored_texts` does.

    Each group is read once.
    """
    asked: dict[tuple[int, int], set[int]] = {}
    for ref, version in keys:
        asked.setdefault((ref, find_first_of_group(version)), set()).add(version)

    async def read(refs: Sequence[int]) -> list[list[Any]]:
        some = frozenset(refs)
        ranges = [[*key, max(of_group)] for key, of_group in asked.items() if key[0] in some]
        return await source.table("reason/texts/texts_of_versions", ranges=ranges)

    def build(row: Sequence[Any]) -> dict[tuple[int, int], ClientText]:
        ref, first, rows = row
        texts = build_texts(ref, rows, asked[ref, first])
        return {(ref, text.profile.version): text for text in texts}

    refs = sorted({ref for ref, _ in keys})
    return await read_until_complete(source, refs, read, build)


async def read_text_at(database: Neo4jDatabase, ref: int, sequence: int) -> ClientText | None:
    """Read the text that a client had at a sequence.

    Raises:
        StoreCorrupt: The version cannot be read.
    """

    async def read(_: Sequence[int]) -> list[list[Any]]:
        return await database.rows(
            "reason/texts/text_at", ref=ref, sequence=sequence, group=VERSIONS_PER_GROUP
        )

    def build(row: Sequence[Any]) -> dict[int, ClientText]:
        return {text.profile.version: text for text in build_texts(ref, row[2], {row[1]})}

    found = await read_until_complete(database, [ref], read, build)
    return next(iter(found.values()), None)


def build_texts(
    ref: int, rows: Sequence[Sequence[Any]], versions: Collection[int]
) -> list[ClientText]:
    """Build the texts of some versions of one client.

    Args:
        rows: Ascending versions from the first of a group on: version, next id, watermark, number
            of dropped messages, and body.
        versions: The versions to build; those that have no row are left out.

    Raises:
        StoreCorrupt: The body of one of these versions is damaged, or one that it builds on.
    """
    decoder = VersionDecoder()
    found = []
    for version, *columns, body in rows:
        if version in versions:
            with translate_row_errors([ref, version]):
                decoder.decode_rows(version, body)
                found.append(decoder.build(ref, version, *columns))
        else:
            decoder.pass_over(version, body)
    return found


@contextmanager
def translate_row_errors(row: Sequence[Any]) -> Iterator[None]:
    """Translate the errors of an unreadable row into StoreCorrupt.

    Args:
        row: The row of a text; it begins with the client's ref and the version.
    """
    try:
        yield
    except (DamagedText, ValueError, TypeError, LookupError) as error:
        reason = error.__cause__ or error if isinstance(error, DamagedText) else error
        raise StoreCorrupt(
            f"client {row[0]}: version {row[1]} of its profile cannot be read: {reason}; restore"
            " the database from a back-up"
        ) from error


async def read_until_complete(
    source: Source,
    refs: Sequence[int],
    read: Callable[[Sequence[int]], Awaitable[Sequence[Sequence[Any]]]],
    build: Callable[[Sequence[Any]], dict[Key, Found]],
) -> dict[Key, Found]:
    """Read rows of clients, and build something of each.

    A commit may be visible in part, so that a version lacks one that it builds on. Then wait for
    the commit, and read that client again.

    Args:
        read: Reads rows of some of the clients; each row begins with its client's ref.
        build: Raises StoreCorrupt for a row that lacks something.

    Raises:
        StoreCorrupt: A row still cannot be read at the last attempt.
    """
    found: dict[Key, Found] = {}
    for attempt in range(1, ATTEMPTS + 1):
        incomplete = set()
        for row in await read(refs):
            try:
                found.update(build(row))
            except StoreCorrupt:
                if attempt == ATTEMPTS:
                    raise
                incomplete.add(row[0])
        if not incomplete:
            break
        refs = sorted(incomplete)
        await source.execute("reason/texts/lock_clients", refs=refs)
    return found


async def read_pages(
    read: Callable[[Sequence[Request]], Awaitable[dict[Key, Found]]],
    keys: Sequence[Request],
    size: int,
) -> dict[Key, Found]:
    """Read pages concurrently: the server reads one while this process converts another."""
    found: dict[Key, Found] = {}
    semaphore = asyncio.Semaphore(CONCURRENT_READS)

    async def read_page(start: int) -> None:
        async with semaphore:
            found.update(await read(keys[start : start + size]))

    await asyncio.gather(*(read_page(start) for start in range(0, len(keys), size)))
    return found
