"""Rows of learned blocks that a withdrawal reads, marks and clears.

The commit of the withdrawal marks its own rows. Later commits write them into their blocks, some
blocks per commit, and remove erased items from what was drawn for others.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from propagation.adapters.neo4j.connection import Neo4jDatabase, Transaction
from propagation.adapters.neo4j.learn.learn import (
    apply_marks,
    read_blocks_with_rows,
    split_columns,
    unpack_draw_columns,
    write_row,
)
from propagation.adapters.neo4j.maintenance.removed_draws import (
    find_blocks_naming,
    read_removed_items,
)
from propagation.adapters.shared.learned_blocks import (
    BYTES_PER_ROW,
    build_weights_of_rows,
    find_places,
    join_weights,
    remove_draws,
)
from propagation.model import Bools, LearnedWeights, PromotedRepeat, split_into_batches

BLOCKS_PER_COMMIT = 16
NO_ITEMS = np.zeros(0, np.bool_)


async def read_learned_weights(database: Neo4jDatabase, sequences: Sequence[int]) -> LearnedWeights:
    """Read the weights that interactions wrote (see ErasureStore.get_learned_weights)."""
    found = [part async for part in read_blocks_with_rows(database, sequences)]
    total, learned = 0, {}
    for through, size in (
        await database.rows("forget/learned_rows/block_sizes", since=found[0][0].through)
        if found
        else ()
    ):
        total += size
        learned[through] = total
    return join_weights(
        [build_weights_of_rows(block, places, learned[block.through]) for block, places in found]
    )


async def mark_rows(
    transaction: Transaction, emptied: Sequence[int], promoted: Sequence[PromotedRepeat]
) -> frozenset[int]:
    """Mark the rows of interactions that a withdrawal clears or promotes.

    Args:
        emptied: Sequences of the interactions whose rows will be cleared.
        promoted: Repeats, with the new routers and weights of their rows.

    Returns:
        The sequences in `emptied` that have a row.
    """
    moved = {row.sequence: row for row in promoted}
    distinct = np.array(sorted({*emptied, *moved}), np.int64)
    without_weights, rows, known = frozenset(emptied), [], []
    for found in await transaction.rows(
        "learn/blocks/draws_of_sequences", sequences=distinct.tolist()
    ):
        columns = unpack_draw_columns(*found)
        through, learned = columns.through, columns.sequence
        places = find_places(learned, distinct).tolist()
        empty = [place for place in places if int(learned[place]) in without_weights]
        moving = [
            (place, moved[int(learned[place])])
            for place in places
            if int(learned[place]) not in without_weights
        ]
        known += [int(learned[place]) for place in empty]
        if places:
            rows.append(
                [
                    through,
                    empty,
                    [place for place, _ in moving],
                    [router for _, row in moving for router in row.routers.ravel().tolist()],
                    [weight for _, row in moving for weight in row.weights.ravel().tolist()],
                ]
            )
    if rows:
        await transaction.execute("forget/learned_rows/mark_rows", rows=rows)
    return frozenset(known)


async def write_marked_rows(database: Neo4jDatabase) -> None:
    """Write marked rows into their blocks."""

    async def work(transaction: Transaction) -> int:
        blocks = await transaction.rows(
            "forget/learned_rows/marked_blocks", limit=BLOCKS_PER_COMMIT
        )
        await _write_blocks(transaction, blocks, NO_ITEMS)
        return len(blocks)

    while await database.write(work) >= BLOCKS_PER_COMMIT:
        pass


async def _write_blocks(
    transaction: Transaction, blocks: Sequence[Sequence[Any]], removed: Bools
) -> None:
    """Write blocks with marks applied, and without draws of removed items.

    Args:
        blocks: Rows of cypher/forget/learned_rows/marked_blocks.
        removed: Items by row.
    """
    for _, through, _, size, *columns in blocks:
        marked = apply_marks(size, *columns)
        packed = bytearray(marked)
        if len(marked) == BYTES_PER_ROW * size:  # else it is damaged, which other checks say
            for place, row in remove_draws(size, marked, removed):
                write_row(packed, size, place, row)
        drawn, wrote = split_columns(size, bytes(packed))
        await transaction.execute(
            "forget/learned_rows/write_block", through=through, drawn=drawn, wrote=wrote
        )


async def clear_draws(database: Neo4jDatabase) -> None:
    """Remove erased items from what was drawn for others (see `remove_draws`)."""
    removed = await read_removed_items(database)
    found = [through async for through, _ in find_blocks_naming(database, removed)]
    for some in split_into_batches(found, BLOCKS_PER_COMMIT):

        async def work(transaction: Transaction, some: Sequence[int] = some) -> None:
            blocks = await transaction.rows("forget/learned_rows/blocks", through=list(some))
            await _write_blocks(transaction, blocks, removed)

        await database.write(work)
