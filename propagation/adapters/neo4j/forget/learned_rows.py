"""Rows of learned blocks that a withdrawal reads, marks and clears.

They are marked in the commit of the withdrawal and written into their blocks after it, some blocks
per commit.
"""

from collections.abc import AsyncIterator, Sequence

import numpy as np
from numpy.typing import NDArray

from propagation.adapters.neo4j.connection import Neo4jDatabase, Transaction
from propagation.adapters.neo4j.learn.learn import (
    apply_marks,
    block_of,
    draw_columns,
    split_columns,
)
from propagation.adapters.shared.learned_blocks import join_weights, places_of, weights_of_rows
from propagation.model import LearnedBlock, LearnedWeights, PromotedRepeat

BLOCKS_PER_COMMIT = 16


async def learned_weights_of(database: Neo4jDatabase, sequences: Sequence[int]) -> LearnedWeights:
    """See ErasureStore.learned_weights."""
    found = [part async for part in _blocks(database, np.array(sorted(set(sequences)), np.int64))]
    total, learned = 0, {}
    for through, size in (
        await database.rows("forget/learned_rows/block_sizes", since=found[0][0].through)
        if found
        else ()
    ):
        total += size
        learned[through] = total
    return join_weights(
        [weights_of_rows(block, places, learned[block.through]) for block, places in found]
    )


async def _blocks(
    database: Neo4jDatabase, wanted: NDArray[np.int64]
) -> AsyncIterator[tuple[LearnedBlock, NDArray[np.int64]]]:
    """Yield each block that holds some of these sequences.

    The places of the sequences in the block come with it.
    """
    while (
        len(wanted)
        and (row := await database.row("learn/blocks/block_at", sequence=int(wanted[0])))
        is not None
    ):
        block = block_of(*row)
        inside, wanted = wanted[wanted <= block.through], wanted[wanted > block.through]
        if len(places := places_of(block.sequence, inside)):
            yield block, places


async def mark_rows(
    transaction: Transaction, emptied: Sequence[int], promoted: Sequence[PromotedRepeat]
) -> frozenset[int]:
    """Mark rows as empty, and rows of promoted repeats as reweighted.

    The marks of promoted repeats have their new weights.

    Returns:
        Those of the emptied interactions that had a row.
    """
    moved = {row.sequence: row for row in promoted}
    wanted = np.array(sorted({*emptied, *moved}), np.int64)
    gone, rows, known = frozenset(emptied), [], []
    while (
        len(wanted)
        and (found := await transaction.row("learn/blocks/draws_at", sequence=int(wanted[0])))
        is not None
    ):
        columns = draw_columns(*found)
        through, learned = columns.through, columns.sequence
        inside, wanted = wanted[wanted <= through], wanted[wanted > through]
        places = places_of(learned, inside).tolist()
        empty = [place for place in places if int(learned[place]) in gone]
        moving = [
            (place, moved[int(learned[place])])
            for place in places
            if int(learned[place]) not in gone
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

    while await database.write(work):
        pass
