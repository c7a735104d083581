"""Writes and reads texts, merges and gradients.

The lines of a text are stored as lists of equal length, one for each field, so that Cypher can read
them.
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, TypeVar

import orjson

from propagation.adapters.neo4j.connection import Neo4jDatabase, Transaction
from propagation.adapters.neo4j.index.outbox import enqueue_texts
from propagation.adapters.shared.json_text import remove_nul
from propagation.adapters.shared.reason_rows import build_line, build_rule, build_rule_row
from propagation.graph_rules import check_texts_follow
from propagation.model import (
    ClientText,
    FilterMemory,
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
NONE = -1
"""Stands for None: a list property on the server cannot hold null."""


def build_text_row(text: ClientText, sequence: int) -> list[object]:
    """Convert a text to a row of cypher/reason/texts/create_texts.

    Raises:
        InvalidInput: A text holds U+0000.
    """
    profile = text.profile
    sources = [(line.id, source) for line in profile.lines for source in line.sources]
    rules = [build_rule_row(rule) for rule in text.filter_memory.rules]
    texts = [line.text for line in profile.lines]
    names = [name for line in profile.lines for name in line.attributes]
    remove_nul(orjson.dumps((texts, names, rules)))
    return [
        profile.ref,
        profile.version,
        sequence,
        profile.next_id,
        text.watermark,
        text.dropped,
        [line.id for line in profile.lines],
        texts,
        [float(line.weight) for line in profile.lines],
        [line.author.value for line in profile.lines],
        [line.id for line in profile.lines for _ in line.attributes],
        names,
        [id_ for id_, _ in sources],
        [_encode_number(source.sequence) for _, source in sources],
        [_encode_number(source.router) for _, source in sources],
        [_encode_number(source.version) for _, source in sources],
        orjson.dumps(rules).decode() if rules else None,
        [rule.router for rule in text.filter_memory.rules if rule.router is not None],
    ]


def build_text(row: Sequence[Any]) -> ClientText:
    """Convert a row of cypher/reason/texts/current_texts to a text.

    Raises:
        StoreCorrupt: The row is not a text that `build_text_row` wrote.
    """
    ref, version, next_id, watermark, dropped, *_ = row
    with translate_row_errors(row):
        line_rows, rule_rows = build_part_rows(row)
        return ClientText(
            profile=Profile(
                ref=ref,
                version=version,
                next_id=next_id,
                lines=tuple(build_line(line) for line in line_rows),
            ),
            filter_memory=FilterMemory(rules=tuple(build_rule(rule) for rule in rule_rows)),
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
    except (ValueError, TypeError, LookupError) as error:
        raise StoreCorrupt(
            f"client {row[0]}: version {row[1]} of its profile cannot be read: {error}; restore the"
            " database from a back-up"
        ) from error


def build_part_rows(row: Sequence[Any]) -> tuple[list[list[Any]], list[dict[str, Any]]]:
    """Return a row's lines and rules, for `build_line` and `build_rule`.

    Raises:
        ValueError, TypeError, LookupError: The row is not that of a text.
    """
    (
        ids,
        texts,
        weights,
        authors,
        attribute_lines,
        attributes,
        source_lines,
        sequences,
        routers,
        versions,
        rules,
    ) = row[5:16]
    lines = {
        id_: [id_, text, [], weight, author, []]
        for id_, text, weight, author in zip(ids, texts, weights, authors, strict=True)
    }
    for id_, name in zip(attribute_lines, attributes, strict=True):
        lines[id_][2].append(name)
    for id_, *source in zip(source_lines, sequences, routers, versions, strict=True):
        lines[id_][5].append([None if number == NONE else number for number in source])
    return list(lines.values()), orjson.loads(rules or "[]")


def _encode_number(value: int | None) -> int:
    return NONE if value is None else value


INTERACTIONS_PER_STATEMENT = 500
TEXTS_PER_READ, CONCURRENT_READS = 2_000, 2


async def lock_clients(
    transaction: Transaction, texts: Sequence[ClientText], others: Collection[int] = ()
) -> None:
    """Lock the texts' clients, and others, until the commit.

    All writers lock clients in the order of their refs, so that they never deadlock.

    Args:
        others: Refs of the other clients.

    Raises:
        VersionClash: A text does not follow its client's stored version.
    """
    refs = sorted({text.profile.ref for text in texts}.union(others))
    newest = dict(await transaction.table("reason/texts/lock_clients", refs=refs)) if refs else {}
    check_texts_follow([(text.profile.ref, text.profile.version) for text in texts], newest)


async def create_texts(
    transaction: Transaction,
    texts: Sequence[ClientText],
    rows: Sequence[list[object]],
    merged: Sequence[tuple[MessageMerge, int]],
    interactions: Sequence[int] | None = None,
    written_by: str = "",
) -> None:
    """Create versions of texts and merges, with the next commit numbers.

    The texts' clients are locked, and the texts are added to the outbox.

    Args:
        rows: The texts, as `build_text_row` makes them.
        merged: Merges with their sequences.
        interactions: The sequence of the interaction that wrote each text; None if no interaction
            wrote the texts.
        written_by: The prompts or the fallback of texts that no interaction wrote.

    Raises:
        VersionClash: A text does not follow its client's stored version.
    """
    await lock_clients(transaction, texts)
    await enqueue_texts(transaction, texts)
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
    if not rows and not merges:
        return
    before = await transaction.read_single_row(
        "reason/texts/take_commit_numbers", texts=len(rows), merges=len(merges)
    )
    numbered = [[*row, number] for number, row in enumerate(rows, before[0] + 1)]
    if numbered and interactions is not None:
        await transaction.execute(
            "reason/texts/create_texts_of_interactions",
            rows=numbered,
            now=transaction.now(),
            interactions=interactions,
        )
    elif numbered:
        await transaction.execute(
            "reason/texts/create_texts",
            rows=numbered,
            now=transaction.now(),
            written_by=written_by or None,
        )
    if merges:
        await transaction.execute(
            "reason/merges/create_merges",
            rows=[[*row, number] for number, row in enumerate(merges, before[1] + 1)],
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
    """
    found: dict[int, ClientText] = {}
    while refs:
        rows = await database.table("reason/texts/current_texts", refs=list(refs))
        found.update((row[0], build_text(row)) for row in rows if row[1] is not None)
        refs = [row[0] for row in rows if row[1] is None]
        if refs:
            await database.execute("reason/texts/lock_clients", refs=list(refs))
    return found


async def find_damaged_texts(database: Neo4jDatabase) -> list[str]:
    """Convert every current text, as reads do, and describe unreadable ones.

    At most five are described.
    """
    refs = await database.value("maintenance/check/texts/described_clients")
    found: list[str] = []
    for page in split_into_batches(refs, TEXTS_PER_READ):
        for row in await database.table("reason/texts/current_texts", refs=page):
            try:
                if row[1] is not None:
                    build_text(row)
            except StoreCorrupt as error:
                found.append(str(error))
    return found[:5]
