"""Rows of learned blocks that a withdrawal reads, marks and clears.

The commit of the withdrawal marks the rows. Later commits write them into their blocks, some blocks
per commit.
"""

from collections.abc import Sequence

import numpy as np

from propagation.adapters.neo4j.connection import Neo4jDatabase, Transaction
from propagation.adapters.neo4j.learn.learn import (
    apply_marks,
    read_blocks_with_rows,
    split_columns,
    unpack_draw_columns,
)
from propagation.adapters.shared.learned_blocks import (
    build_weights_of_rows,
    find_places,
    join_weights,
)
from propagation.model import LearnedWeights, PromotedRepeat

BLOCKS_PER_COMMIT = 16


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
        for _, through, _, size, *columns in blocks:
            drawn, wrote = split_columns(size, apply_marks(size, *columns))
            await transaction.execute(
                "forget/learned_rows/write_block", through=through, drawn=drawn, wrote=wrote
            )
        return len(blocks)

    while await database.write(work) >= BLOCKS_PER_COMMIT:
        pass
