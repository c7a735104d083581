"""Searches for damaged bodies, lines and filter rules."""

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import islice
from typing import Any

from propagation.adapters.neo4j.connection import Neo4jDatabase, Transaction
from propagation.adapters.neo4j.reason.text_changes import list_line_columns, list_rule_columns
from propagation.adapters.shared.text_bodies import describe_damage
from propagation.adapters.shared.versions.version_bodies import UNREADABLE, VersionDecoder
from propagation.model import ClientText, split_into_batches

MOST_FOUND = 5
CLIENTS_PER_READ = 100
STATEMENT = "maintenance/check/texts/texts_of_clients"


async def find_damaged_texts(database: Neo4jDatabase) -> list[str]:
    """Read every version, and compare current texts with their nodes.

    A client with a damage is read once more while it is locked, because its texts may have changed
    meanwhile. At most five damaged texts of each kind are described.
    """
    refs = await database.value("maintenance/check/texts/described_clients")
    damaged: list[str] = []
    differing: list[str] = []
    for page in split_into_batches(refs, CLIENTS_PER_READ):
        rows = await database.table(STATEMENT, refs=page)
        if some := await asyncio.to_thread(_list_damaged_clients, rows):
            rows = await database.write(partial(_read_locked, refs=some))
            for row in rows:
                bodies, nodes = _describe_client(*row)
                damaged += bodies
                differing += nodes
    return damaged[:MOST_FOUND] + differing[:MOST_FOUND]


async def _read_locked(transaction: Transaction, refs: Sequence[int]) -> list[list[Any]]:
    await transaction.execute("reason/texts/lock_clients", refs=sorted(refs))
    return await transaction.table(STATEMENT, refs=refs)


def _list_damaged_clients(rows: Iterable[Sequence[Any]]) -> list[int]:
    return [row[0] for row in rows if any(_describe_client(*row))]


def _describe_client(
    ref: int,
    current: int,
    versions: Sequence[Sequence[Any]],
    lines: Sequence[Sequence[Any]],
    rules: Sequence[Sequence[Any]],
) -> tuple[list[str], list[str]]:
    """Describe a client's damaged versions, and how its nodes differ.

    At most five versions are described.

    Args:
        ref: The client; this and the others are a row of
            cypher/maintenance/check/texts/texts_of_clients.
    """
    decoder = VersionDecoder()
    damaged = list(islice(_describe_versions(ref, versions, decoder), MOST_FOUND))
    if damaged or not versions or versions[-1][0] != current:
        return damaged, []  # another part of the check finds a version that is missing
    text = decoder.build(ref, *versions[-1][:-1])
    return [], list(_describe_nodes(text, lines, rules))


def _describe_versions(
    ref: int, versions: Iterable[Sequence[Any]], decoder: VersionDecoder
) -> Iterator[str]:
    """Describe damaged versions, but not those that only build on one."""
    last: Exception | None = None
    for version, *_, body in versions:
        damage = describe_damage(body, ref, version)
        try:
            decoder.decode_rows(version, body)
        except UNREADABLE as error:
            if error is not last:
                yield (
                    damage
                    or f"client {ref}: version {version} of its profile cannot be read: {error}"
                )
            last = error
        else:
            if damage is not None:
                yield damage


def _describe_nodes(
    text: ClientText, lines: Sequence[Sequence[Any]], rules: Sequence[Sequence[Any]]
) -> Iterator[str]:
    if _index(lines) != list_line_columns(text):
        yield f"client {text.profile.ref}: its lines are not those of its profile"
    if _index(rules) != list_rule_columns(text):
        yield f"client {text.profile.ref}: its filter rules are not those of its profile"


def _index(rows: Sequence[Sequence[Any]]) -> dict[int, list[Any]]:
    return {key: columns for key, *columns in rows}
