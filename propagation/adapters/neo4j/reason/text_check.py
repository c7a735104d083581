"""Searches for damaged bodies, lines and filter rules."""

import asyncio
from collections.abc import Sequence
from functools import partial
from typing import Any

from propagation.adapters.neo4j.connection import Neo4jDatabase, Transaction
from propagation.adapters.neo4j.reason.text_changes import list_line_columns, list_rule_columns
from propagation.adapters.neo4j.reason.texts import TEXTS_PER_READ, build_text, list_bodies
from propagation.adapters.shared.text_bodies import describe_damage
from propagation.model import StoreCorrupt, split_into_batches

MOST_FOUND = 5


async def find_damaged_texts(database: Neo4jDatabase) -> list[str]:
    """Read every version, and compare current texts with their nodes.

    A current text that differs is read once more while its client is locked, because it may have
    changed meanwhile. At most five damaged texts of each kind are described.
    """
    found = await _find_damaged_bodies(database)
    refs = await database.value("maintenance/check/texts/described_clients")
    differing: list[str] = []
    for page in split_into_batches(refs, TEXTS_PER_READ):
        rows = await database.table("maintenance/check/texts/nodes_of_texts", refs=page)
        if some := [row[0] for row in rows if _describe_difference(*row)]:
            rows = await database.write(partial(_read_locked, refs=some))
            differing += filter(None, (_describe_difference(*row) for row in rows))
    return found + differing[:MOST_FOUND]


async def _find_damaged_bodies(database: Neo4jDatabase) -> list[str]:
    found: list[str] = []
    async for page in list_bodies(database, "reason/texts/bodies_after"):
        found += await asyncio.to_thread(_describe_damages, page)
        if len(found) >= MOST_FOUND:
            break
    return found[:MOST_FOUND]


def _describe_damages(page: Sequence[Sequence[Any]]) -> list[str]:
    return list(filter(None, (describe_damage(body, *key) for _, *key, body in page)))


async def _read_locked(transaction: Transaction, refs: Sequence[int]) -> list[list[Any]]:
    await transaction.execute("reason/texts/lock_clients", refs=sorted(refs))
    return await transaction.table("maintenance/check/texts/nodes_of_texts", refs=refs)


def _describe_difference(*row: Any) -> str | None:
    """Describe how nodes differ from their text; None if they do not.

    Args:
        row: A row of cypher/maintenance/check/texts/nodes_of_texts.
    """
    *columns, lines, rules = row
    try:
        text = build_text(columns)
    except StoreCorrupt:
        return None  # the bodies were checked before
    if _index(lines) != list_line_columns(text):
        return f"client {row[0]}: its lines are not those of its profile"
    if _index(rules) != list_rule_columns(text):
        return f"client {row[0]}: its filter rules are not those of its profile"
    return None


def _index(rows: Sequence[Sequence[Any]]) -> dict[int, list[Any]]:
    return {key: columns for key, *columns in rows}
