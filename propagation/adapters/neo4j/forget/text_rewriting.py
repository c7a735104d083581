"""Changes the bodies of stored versions, with those that build on them.

A version and the one that it builds on change in one transaction, under the lock of their client.
Only bodies that change are written: most of a change is in the first version that has it.
"""

import asyncio
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from propagation.adapters.neo4j.connection import Neo4jDatabase, Transaction
from propagation.adapters.neo4j.reason.text_reader import translate_row_errors
from propagation.adapters.shared.text_bodies import is_difference
from propagation.adapters.shared.versions.version_bodies import (
    VERSIONS_PER_GROUP,
    VersionDecoder,
    VersionEncoder,
    find_first_of_group,
)
from propagation.model import ClientText, group_pairs
from propagation.ports import Lease

VERSIONS_PER_COMMIT = 2_000
Group = tuple[int, int]
"""A client's ref, and the first version of a group."""


async def rewrite_past_texts(
    database: Neo4jDatabase, lease: Lease, texts: Iterable[ClientText]
) -> None:
    """Rewrite versions that newer ones have replaced; each group in one commit.

    Versions that retention deleted meanwhile stay deleted.

    Raises:
        LeaseLost: Another process has taken the lease over.
        StoreCorrupt: A version that builds on a rewritten one cannot be read.
    """
    for groups in _split_groups(texts):

        async def rewrite(
            transaction: Transaction, groups: Mapping[Group, Sequence[ClientText]] = groups
        ) -> None:
            rows = await read_groups(transaction, groups)
            changed = await asyncio.to_thread(_encode_changed, rows, groups)
            await transaction.execute("forget/withdrawal/update_texts", rows=changed)

        await database.write(rewrite, lease)


async def fill_up_before_deletion(
    transaction: Transaction, versions: Iterable[tuple[int, int]]
) -> None:
    """Store in full what builds on versions that will be deleted.

    Args:
        versions: Ref and version of each text that this transaction deletes.

    Raises:
        StoreCorrupt: A version cannot be read.
    """
    leaving = group_pairs(
        ((ref, find_first_of_group(version)), version) for ref, version in versions
    )
    affected = [key for key, found in leaving.items() if _may_leave_others(key[1], found)]
    if affected:
        rows = await read_groups(transaction, affected)
        filled = await asyncio.to_thread(_encode_in_full, rows, leaving)
        if filled:
            await transaction.execute("forget/withdrawal/update_texts", rows=filled)


async def read_groups(transaction: Transaction, groups: Collection[Group]) -> list[list[Any]]:
    """Lock the clients of groups, and read all versions of the groups.

    Returns:
        Rows of cypher/reason/texts/texts_of_versions.
    """
    await transaction.execute("reason/texts/lock_clients", refs=sorted({ref for ref, _ in groups}))
    return await transaction.table(
        "reason/texts/texts_of_versions",
        ranges=[[ref, first, first + VERSIONS_PER_GROUP - 1] for ref, first in groups],
    )


def _split_groups(texts: Iterable[ClientText]) -> Iterator[dict[Group, list[ClientText]]]:
    """Yield the texts by group, in parts of some VERSIONS_PER_COMMIT texts."""
    part: dict[Group, list[ClientText]] = {}
    count = 0
    by_group = group_pairs(
        ((text.profile.ref, find_first_of_group(text.profile.version)), text) for text in texts
    )
    for key in sorted(by_group):
        part[key] = list(by_group[key])
        count += len(part[key])
        if count >= VERSIONS_PER_COMMIT:
            yield part
            part, count = {}, 0
    if part:
        yield part


def _encode_changed(
    rows: Sequence[Sequence[Any]], groups: Mapping[Group, Sequence[ClientText]]
) -> list[list[object]]:
    """Build rows of cypher/forget/withdrawal/update_texts for bodies that change.

    Args:
        rows: What `read_groups` returned.
        groups: The new texts of each group.
    """
    encoder = VersionEncoder()
    changed: list[list[object]] = []
    for ref, first, versions in rows:
        texts = {text.profile.version: text for text in groups[ref, first]}
        if any(version not in texts for version, *_ in versions):
            stored = {text.profile.version: text for text, _ in _decode(ref, versions)}
        else:
            stored = {}
        for version, *_, body in versions:
            builds = is_difference(body)
            if version in texts or (builds and version - 1 in texts):
                text = texts.get(version) or stored[version]
                before = texts.get(version - 1) or stored.get(version - 1)
                written = encoder.encode(text, before if builds else None)
                if written != body:
                    changed.append([ref, version, written, version in texts])
    return changed


def _encode_in_full(
    rows: Sequence[Sequence[Any]], leaving: Mapping[Group, Sequence[int]]
) -> list[list[object]]:
    """Build rows of cypher/forget/withdrawal/update_texts for versions that lose their base."""
    encoder = VersionEncoder()
    filled: list[list[object]] = []
    for ref, first, versions in rows:
        gone = frozenset(leaving[ref, first])
        for text, body in _decode(ref, versions):
            version = text.profile.version
            if version not in gone and version - 1 in gone and is_difference(body):
                filled.append([ref, version, encoder.encode(text, None), False])
    return filled


def _decode(ref: int, versions: Iterable[Sequence[Any]]) -> Iterator[tuple[ClientText, bytes]]:
    """Yield the text and the body of each version of a group."""
    decoder = VersionDecoder()
    for version, *columns, body in versions:
        with translate_row_errors([ref, version]):
            decoder.decode_rows(version, body)
            text = decoder.build(ref, version, *columns)
        yield text, body


def _may_leave_others(first: int, leaving: Sequence[int]) -> bool:
    """Tell whether a version may stay behind one that is deleted."""
    return len(leaving) <= first + VERSIONS_PER_GROUP - 1 - min(leaving)
