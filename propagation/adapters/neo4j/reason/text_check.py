"""Searches for damaged bodies, lines and filter rules."""

from collections.abc import Sequence
from typing import Any

from propagation.adapters.neo4j.connection import Neo4jDatabase
from propagation.adapters.neo4j.reason.text_changes import list_line_columns, list_rule_columns
from propagation.adapters.neo4j.reason.texts import TEXTS_PER_READ, build_text, list_bodies
from propagation.adapters.shared.text_bodies import describe_damage
from propagation.model import StoreCorrupt, split_into_batches

MOST_FOUND = 5


async def find_damaged_texts(database: Neo4jDatabase) -> list[str]:
    """Read every version, and compare current texts with their nodes.

    A current text that differs is read once more, because it may have changed meanwhile. At most
    five damaged texts of each kind are described.
    """
    found = await _find_damaged_bodies(database)
    refs = await database.value("maintenance/check/texts/described_clients")
    differing: list[str] = []
    for page in split_into_batches(refs, TEXTS_PER_READ):
        if some := await _find_differing(database, page):
            again = await _find_differing(database, sorted(some))
            differing += [text for ref, text in some.items() if ref in again]
    return found + differing[:MOST_FOUND]


async def _find_damaged_bodies(database: Neo4jDatabase) -> list[str]:
    found: list[str] = []
    async for rows in list_bodies(database):
        found += filter(None, (describe_damage(body, *key) for _, *key, body in rows))
    return found[:MOST_FOUND]


async def _find_differing(database: Neo4jDatabase, refs: Sequence[int]) -> dict[int, str]:
    """Describe, by ref, clients whose nodes differ from their text."""
    found: dict[int, str] = {}
    for *row, lines, rules in await database.table(
        "maintenance/check/texts/nodes_of_texts", refs=refs
    ):
        try:
            text = build_text(row)
        except StoreCorrupt:
            continue  # the bodies were checked before
        if _index(lines) != list_line_columns(text):
            found[row[0]] = f"client {row[0]}: its lines are not those of its profile"
        elif _index(rules) != list_rule_columns(text):
            found[row[0]] = f"client {row[0]}: its filter rules are not those of its profile"
    return found


def _index(rows: Sequence[Sequence[Any]]) -> dict[int, list[Any]]:
    return {key: columns for key, *columns in rows}
