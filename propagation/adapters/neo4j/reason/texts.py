"""Writes texts, merges and gradients."""

from collections.abc import AsyncIterator, Collection, Iterable, Mapping, Sequence
from typing import Any

import orjson
from cachetools import LRUCache

from propagation.adapters.neo4j.connection import Neo4jDatabase, Transaction
from propagation.adapters.neo4j.index.outbox import enqueue_texts
from propagation.adapters.neo4j.reason.text_changes import NewTexts, find_node_changes
from propagation.adapters.neo4j.reason.text_reader import read_page_of_current_texts
from propagation.adapters.shared.json_text import remove_nul
from propagation.graph_rules import check_texts_follow
from propagation.model import (
    ClientText,
    MessageMerge,
    ReasonedInteraction,
    group_pairs,
    split_into_batches,
)

INTERACTIONS_PER_STATEMENT = 500
LINES_KEPT = 40_960
VERSIONS_PER_READ = 10_000


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
    *,
    in_full: bool = False,
) -> None:
    """Create versions of texts and merges, with the next commit numbers.

    The texts' clients are locked, and the texts are added to the outbox.

    Args:
        sequences: The sequence of the log at which each text is written.
        merged: Merges with their sequences.
        written_by: The prompts or the fallback of texts that no interaction wrote.
        newest: Texts that need not be read; the caller adds the new ones after the commit.
        in_full: Store the versions in full, because this commit changes those before them.

    Raises:
        InvalidInput: A text holds U+0000.
        VersionClash: A text does not follow its client's stored version.
    """
    versions = await lock_clients(transaction, new.texts)
    await enqueue_texts(transaction, new.texts)
    current = await _change_parts(transaction, new, {} if newest is None else newest.find(versions))
    bodies = new.encode_bodies({} if in_full else current)
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
    if not new.texts and not merges:
        return
    before = await transaction.read_single_row(
        "reason/texts/take_commit_numbers", texts=len(new.texts), merges=len(merges)
    )
    if new.texts:
        await transaction.execute(
            "reason/texts/create_versions",
            rows=[
                [*row, body, sequence, number]
                for number, (row, body, sequence) in enumerate(
                    zip(new.rows, bodies, sequences, strict=True), before[0] + 1
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
) -> Mapping[int, ClientText]:
    """Make the nodes of lines and rules those of the new texts.

    The changes are found against the stored texts, and before the commit numbers are locked, for
    which all other commits wait.

    Args:
        known: Stored texts that need not be read, by client.

    Returns:
        The stored text of each client that has one.
    """
    if not new.texts:
        return {}
    unknown = sorted(new.by_client.keys() - known.keys())
    read = await read_page_of_current_texts(transaction, unknown) if unknown else {}
    current = {**known, **read}
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
    return current


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


async def list_pages(
    database: Neo4jDatabase, statement: str, **parameters: object
) -> AsyncIterator[Sequence[Sequence[Any]]]:
    """Yield pages of versions, in commit order.

    A page that is not full is the last one, so that new versions do not keep the reader busy.

    Args:
        statement: Takes `after` and `limit`; returns rows that begin with a commit number.
        parameters: Its other parameters.
    """
    last: int | None = 0
    while last is not None:
        rows = await database.table(statement, after=last, limit=VERSIONS_PER_READ, **parameters)
        yield rows
        last = rows[-1][0] if len(rows) == VERSIONS_PER_READ else None
