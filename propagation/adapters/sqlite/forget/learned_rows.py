"""Single rows of learned blocks, read and written in place.

A block may hold 2,048 rows, and a client's few interactions are spread over many blocks, so writing
whole blocks would be slow.
"""

import sqlite3
from collections.abc import Iterator, Sequence

import numpy as np

from propagation.adapters.shared.learned_blocks import (
    BEFORE_SCORES,
    BYTES_PER_ROW,
    NOTHING,
    Row,
    build_weights_of_rows,
    count_rows_naming,
    find_places,
    find_removed_items,
    is_ascending,
    join_weights,
    remove_draws,
    split_row,
)
from propagation.adapters.sqlite.connection import to_json
from propagation.adapters.sqlite.learn.learn import read_blocks_of
from propagation.model import (
    I64,
    Bools,
    ClientKind,
    LearnedWeights,
    PromotedRepeat,
    name_damage,
)

LEARNED_FROM = (
    "SELECT through, total FROM (SELECT through, sum(size) OVER (ORDER BY through DESC) AS total"
    " FROM learned WHERE through >= (SELECT min(value) FROM json_each(?1)))"
    " WHERE through IN (SELECT value FROM json_each(?1))"
)

SMALL_ROWS, BLOCKS_A_LOOK = 32, 1_000
# A block of another length is damaged, which the check of the database says.
NEGATIVES_OF_BLOCKS = (
    f"SELECT through, size, iif(size <= {SMALL_ROWS}, substr(columns, 8 * size + 1,"
    f" {BEFORE_SCORES - 8} * size), NULL) FROM learned"
    f" WHERE size > 0 AND length(columns) = size * {BYTES_PER_ROW} ORDER BY through"
)
"""The packed negatives of each small block, and NULL for a large one, which is read by itself."""
ITEMS_GIVEN = (
    "SELECT max(coalesce((SELECT value FROM progress WHERE name ="
    f" 'refs_given_{int(ClientKind.ITEM)}'), 0), coalesce((SELECT max(ref >> 1) + 1 FROM client"
    f" WHERE kind = {int(ClientKind.ITEM)}), 0))"
)


def read_weights(connection: sqlite3.Connection, sequences: Sequence[int]) -> LearnedWeights:
    """Return learned weights (see ErasureStore.get_learned_weights)."""
    found = {through: places for through, _, _, places in _find_places(connection, sequences)}
    # For each block, how many interactions were learned from its first one on.
    learned = dict(connection.execute(LEARNED_FROM, (to_json(list(found)),)))
    return join_weights(
        [
            build_weights_of_rows(block, found[block.through], learned[block.through])
            for block in read_blocks_of(connection, list(found))
        ]
    )


def empty_rows(connection: sqlite3.Connection, sequences: Sequence[int]) -> list[int]:
    """Empty the rows of interactions; return the sequences that had a row."""
    emptied: list[int] = []
    for through, size, sequence, places in _find_places(connection, sequences):
        _write_rows(connection, through, size, [(place, NOTHING) for place in places])
        emptied += sequence[places].tolist()
    return emptied


def promote_rows(connection: sqlite3.Connection, promoted: Sequence[PromotedRepeat]) -> None:
    """Write the rows of repeats that replace withdrawn first adoptions."""
    by_sequence: dict[int, Row] = {
        row.sequence: {"routers": row.routers, "weights": row.weights} for row in promoted
    }
    for through, size, sequence, places in _find_places(connection, list(by_sequence)):
        _write_rows(
            connection,
            through,
            size,
            [(place, by_sequence[int(sequence[place])]) for place in places],
        )


def read_removed_items(connection: sqlite3.Connection) -> Bools:
    """Mark the rows of the items that were removed (see `find_removed_items`)."""
    # First, so that an item which is created meanwhile is not taken for a removed one.
    ((given,),) = connection.execute(ITEMS_GIVEN)
    refs = connection.execute("SELECT ref FROM client WHERE kind = ?", (int(ClientKind.ITEM),))
    return find_removed_items((ref for (ref,) in refs), given)


def find_blocks_naming(connection: sqlite3.Connection, marked: Bools) -> Iterator[tuple[int, int]]:
    """Yield the blocks that name marked items among what was drawn.

    Yields:
        (through, how many rows name one) of a block.
    """
    cursor = connection.execute(NEGATIVES_OF_BLOCKS)
    while found := cursor.fetchmany(BLOCKS_A_LOOK):
        blocks = [
            (
                through,
                _read_negatives(connection, through, size) if negatives is None else negatives,
            )
            for through, size, negatives in found
        ]
        yield from count_rows_naming(blocks, marked)


def _read_negatives(connection: sqlite3.Connection, through: int, size: int) -> bytes:
    """Read the negatives of a large block, and not the block."""
    with connection.blobopen("learned", "columns", through, readonly=True) as blob:
        blob.seek(8 * size)
        return blob.read((BEFORE_SCORES - 8) * size)


def clear_draws(connection: sqlite3.Connection, marked: Bools) -> None:
    """Remove marked items from what was drawn against others (see `remove_draws`)."""
    for through, _ in list(find_blocks_naming(connection, marked)):
        with connection.blobopen("learned", "columns", through, readonly=True) as blob:
            columns = blob.read()
        size = len(columns) // BYTES_PER_ROW
        _write_rows(connection, through, size, list(remove_draws(size, columns, marked)))


def _find_places(
    connection: sqlite3.Connection, sequences: Sequence[int]
) -> Iterator[tuple[int, int, I64, I64]]:
    """Yield the places of these sequences in each block that holds some.

    Yields:
        (through, size, sequence column [size], places in that column) of a block.
    """
    remaining = np.array(sorted(set(sequences)), np.int64)
    while len(remaining):
        row = connection.execute(
            "SELECT through, size FROM learned WHERE through >= ? ORDER BY through LIMIT 1",
            (int(remaining[0]),),
        ).fetchone()
        if row is None:
            return
        through, size = row
        inside, remaining = remaining[remaining <= through], remaining[remaining > through]
        with (
            name_damage(f"learned block {through}"),
            connection.blobopen("learned", "columns", through, readonly=True) as blob,
        ):
            sequence = np.frombuffer(blob.read(8 * size), np.int64, size)
            if not is_ascending(sequence, 0, through):
                raise ValueError("its sequences do not ascend")
        if len(places := find_places(sequence, inside)):
            yield through, size, sequence, places


def _write_rows(
    connection: sqlite3.Connection, through: int, size: int, rows: Sequence[tuple[int, Row]]
) -> None:
    """Write rows in place.

    Only the touched pages of a block are written.
    """
    with connection.blobopen("learned", "columns", through) as blob:
        for place, values in rows:
            for start, data in split_row(size, place, values):
                blob.seek(start)
                blob.write(data)
