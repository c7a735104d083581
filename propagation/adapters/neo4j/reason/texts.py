"""Writes and reads texts, merges and gradients."""

import asyncio
from collections.abc import (
    AsyncIterator,
    Awaitable,
    Callable,
    Collection,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import contextmanager
from functools import partial
from typing import Any, TypeVar

import orjson
from cachetools import LRUCache

from propagation.adapters.neo4j.connection import Neo4jDatabase, Transaction
from propagation.adapters.neo4j.index.outbox import enqueue_texts
from propagation.adapters.neo4j.reason.text_changes import NewTexts, find_node_changes
from propagation.adapters.shared.json_text import remove_nul
from propagation.adapters.shared.text_bodies import read_parts
from propagation.graph_rules import check_texts_follow
from propagation.model import (
    ClientText,
    DamagedText,
    MessageMerge,
    Profile,
    ReasonedInteraction,
    StoreCorrupt,
    group_pairs,
    split_into_batches,
)

Key = TypeVar("Key")
Request = TypeVar("Request")
Found = TypeVar("Found")
INTERACTIONS_PER_STATEMENT = 500
LINES_KEPT = 40_960
TEXTS_PER_READ, BODIES_PER_READ, CONCURRENT_READS = 2_000, 10_000, 2


def build_text(row: Sequence[Any]) -> ClientText:
    """Convert a row of cypher/reason/texts/current_texts to a text.

    Raises:
        StoreCorrupt: The row is not that of a text.
    """
    ref, version, next_id, watermark, dropped, body = row
    with translate_row_errors(row):
        lines, memory = read_parts(body)
        return ClientText(
            profile=Profile(ref=ref, version=version, next_id=next_id, lines=lines),
            filter_memory=memory,
            watermark=watermark,
            dropped=dropped,
        )


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


class NewestTexts:
    """The newest texts that this process stored.

    A commit compares each new text with the stored one, which it need not read again if this
    process stored it. The least recently used texts are dropped first.
    """

    def __init__(self) -> None:
        # Most texts are the same objects as in the workflow's cache, which has this capacity, too.
        self._texts: LRUCache[int, ClientText] = LRUCache(
            LINES_KEPT, getsizeof=lambda text: min(1 + len(text.profile.lines), LINES_KEPT)
        )

    def find(self, versions: Mapping[int, int]) -> dict[int, ClientText]:
        """Return the kept texts whose version is still the stored one.

        Args:
            versions: The stored version of each client's text.
        """
        kept = ((ref, version, self._texts.get(ref)) for ref, version in versions.items())
        return {
            ref: text
            for ref, version, text in kept
            if text is not None and text.profile.version == version
        }

    def keep(self, texts: Iterable[ClientText]) -> None:
        """Keep texts that were committed; those of one client are ascending."""
        self._texts.update((text.profile.ref, text) for text in texts)

    def clear(self) -> None:
        """Drop all texts."""
        self._texts.clear()


async def lock_clients(
    transaction: Transaction, texts: Sequence[ClientText], others: Collection[int] = ()
) -> dict[int, int]:
    """Lock the texts' clients, and others, until the commit.

    All writers lock clients in the order of their refs, so that they never deadlock.

    Args:
        others: Refs of the other clients.

    Returns:
        The version of each client's stored text; 0 before the first one.

    Raises:
        VersionClash: A text does not follow its client's stored version.
    """
    refs = sorted({text.profile.ref for text in texts}.union(others))
    newest = dict(await transaction.table("reason/texts/lock_clients", refs=refs)) if refs else {}
    check_texts_follow([(text.profile.ref, text.profile.version) for text in texts], newest)
    return newest


async def create_texts(
    transaction: Transaction,
    new: NewTexts,
    sequences: Sequence[int],
    merged: Sequence[tuple[MessageMerge, int]],
    written_by: str = "",
    newest: NewestTexts | None = None,
) -> None:
    """Create versions of texts and merges, with the next commit numbers.

    The texts' clients are locked, and the texts are added to the outbox.

    Args:
        sequences: The sequence of the log at which each text is written.
        merged: Merges with their sequences.
        written_by: The prompts or the fallback of texts that no interaction wrote.
        newest: Texts that need not be read; the caller adds the new ones after the commit.

    Raises:
        VersionClash: A text does not follow its client's stored version.
    """
    versions = await lock_clients(transaction, new.texts)
    await enqueue_texts(transaction, new.texts)
    await _change_parts(transaction, new, {} if newest is None else newest.find(versions))
    merges = [
        [
            merge.ref,
            merge.profile_version,
            merge.router,
            merge.router_version,
            merge.outcome,
            sequence,
        ]
        for merge, sequence in merged
    ]
    remove_nul(orjson.dumps(merges))
    if not new.rows and not merges:
        return
    before = await transaction.read_single_row(
        "reason/texts/take_commit_numbers", texts=len(new.rows), merges=len(merges)
    )
    if new.rows:
        await transaction.execute(
            "reason/texts/create_versions",
            rows=[
                [*row, sequence, number]
                for number, (row, sequence) in enumerate(
                    zip(new.rows, sequences, strict=True), before[0] + 1
                )
            ],
            now=transaction.now(),
            written_by=written_by or None,
        )
    if merges:
        await transaction.execute(
            "reason/merges/create_merges",
            rows=[[*row, number] for number, row in enumerate(merges, before[1] + 1)],
        )


async def _change_parts(
    transaction: Transaction, new: NewTexts, known: Mapping[int, ClientText]
) -> None:
    """Make the nodes of lines and rules those of the new texts.

    The changes are found against the stored texts, and before the commit numbers are locked, for
    which all other commits wait.

    Args:
        known: Stored texts that need not be read, by client.
    """
    if not new.texts:
        return
    unknown = sorted(new.by_client.keys() - known.keys())
    rows = await transaction.table("reason/texts/current_texts", refs=unknown) if unknown else ()
    current = {**known, **{row[0]: build_text(row) for row in rows}}
    lines, rules = find_node_changes(current, new.by_client)
    await transaction.execute(
        "reason/texts/change_parts",
        deleted_lines=lines.deleted,
        updated_lines=lines.updated,
        created_lines=lines.created,
        deleted_rules=rules.deleted,
        updated_rules=rules.updated,
        created_rules=rules.created,
    )


async def create_gradients(
    transaction: Transaction, reasoned: Sequence[ReasonedInteraction]
) -> None:
    """Create gradients; each interaction is matched once."""
    rows = group_pairs(
        (
            g.sequence,
            [g.module.value, g.owner, g.writer, g.reward, g.text, list(g.attributes), g.epoch],
        )
        for result in reasoned
        for g in result.gradients
    )
    remove_nul(orjson.dumps(list(rows.values())))
    interactions = list(rows.items())
    for batch in split_into_batches(interactions, INTERACTIONS_PER_STATEMENT):
        await transaction.execute(
            "reason/gradients/create_gradients",
            rows=[list(row) for row in batch],
        )


async def read_current_texts(database: Neo4jDatabase, refs: Sequence[int]) -> dict[int, ClientText]:
    """Read the current text of each client that has one."""
    return await read_pages(partial(_read_newest, database), sorted(set(refs)), TEXTS_PER_READ)


async def read_stored_texts(
    database: Neo4jDatabase, versions: Collection[tuple[int, int]]
) -> dict[tuple[int, int], ClientText]:
    """Read versions of texts, by client and version.

    Versions that are not stored are left out.
    """

    async def read(keys: Sequence[tuple[int, int]]) -> dict[tuple[int, int], ClientText]:
        rows = await database.table("reason/texts/texts_of_versions", keys=list(map(list, keys)))
        return {(row[0], row[1]): build_text(row) for row in rows}

    return await read_pages(read, sorted(set(versions)), TEXTS_PER_READ)


async def list_bodies(
    database: Neo4jDatabase, statement: str, **parameters: object
) -> AsyncIterator[Sequence[Sequence[Any]]]:
    """Yield pages of versions, in commit order.

    A page that is not full is the last one, so that new versions do not keep the reader busy.

    Args:
        statement: Takes `after` and `limit`; returns rows of a commit number, a client's ref, a
            version, and its body.
        parameters: Its other parameters.
    """
    last: int | None = 0
    while last is not None:
        rows = await database.table(statement, after=last, limit=BODIES_PER_READ, **parameters)
        yield rows
        last = rows[-1][0] if len(rows) == BODIES_PER_READ else None


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


async def _read_newest(database: Neo4jDatabase, refs: Sequence[int]) -> dict[int, ClientText]:
    """Read one page of current texts.

    If a commit is only partly visible, so that a current version is missing, wait for the commit
    and read that client again.

    Raises:
        StoreCorrupt: A current version is missing, or cannot be read.
    """
    found: dict[int, ClientText] = {}
    missing: dict[int, int] = {}
    while refs:
        rows = await database.table("reason/texts/current_texts", refs=list(refs))
        before, missing = missing, {row[0]: row[1] for row in rows if row[-1] is None}
        for ref, version in missing.items():
            if before.get(ref) == version:
                raise StoreCorrupt(
                    f"client {ref}: version {version} of its profile, the current one, is missing;"
                    " restore the database from a back-up"
                )
        found.update((row[0], build_text(row)) for row in rows if row[-1] is not None)
        refs = list(missing)
        if refs:
            await database.execute("reason/texts/lock_clients", refs=refs)
    return found
