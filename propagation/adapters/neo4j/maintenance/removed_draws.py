"""Learned blocks that name removed items among what was drawn."""

from collections.abc import AsyncIterator

from propagation.adapters.neo4j.connection import Neo4jDatabase
from propagation.adapters.shared.learned_blocks import (
    BEFORE_SCORES,
    count_rows_naming,
    find_removed_items,
)
from propagation.model import Bools

SEQUENCES_PER_READ = 20_000
"""How many sequences' draws are read at once, about a MiB, in however many blocks."""
ITEMS_PER_READ = 100_000


async def read_removed_items(database: Neo4jDatabase) -> Bools:
    """Mark the rows of the items that were removed (see `find_removed_items`)."""
    # First, so that an item which is created meanwhile is not taken for a removed one.
    given = await database.value("maintenance/check/numbers/items_given")
    known: list[int] = []
    is_last = False
    while not is_last:  # items that are created meanwhile could go on for ever
        page = await database.value(
            "maintenance/check/numbers/item_refs",
            after=known[-1] if known else -1,
            limit=ITEMS_PER_READ,
        )
        known += page
        is_last = len(page) < ITEMS_PER_READ
    return find_removed_items(known, given)


async def find_blocks_naming(
    database: Neo4jDatabase, removed: Bools
) -> AsyncIterator[tuple[int, int]]:
    """Yield the blocks that name removed items among what was drawn.

    A block that is too short is left out.

    Yields:
        (through, how many rows name one) of a block.
    """
    learned = await database.value("learn/blocks/learned_through") or 0
    for after in range(0, learned, SEQUENCES_PER_READ):
        rows = await database.table(
            "maintenance/check/numbers/draws_between",
            after=after,
            through=after + SEQUENCES_PER_READ,
        )
        blocks = [
            (through, drawn[8 * size : BEFORE_SCORES * size])
            for through, size, drawn in rows
            if drawn is not None and len(drawn) >= BEFORE_SCORES * size
        ]
        for named in count_rows_naming(blocks, removed):
            yield named
