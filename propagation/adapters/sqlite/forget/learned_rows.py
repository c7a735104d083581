"""Single rows of learned blocks, read and written in place.

A block may hold 2,048 rows, and a client's interactions are spread over many blocks.
"""

import sqlite3
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from propagation.adapters.shared.learned_blocks import (
    NOTHING,
    Row,
    join_weights,
    places_of,
    row_of,
    row_parts,
)
from propagation.adapters.sqlite.connection import to_json
from propagation.model import LearnedWeights, PromotedRepeat

LEARNED_FROM = (
    "SELECT through, total FROM (SELECT through, sum(size) OVER (ORDER BY through DESC) AS total"
    " FROM learned WHERE through >= (SELECT min(value) FROM json_each(?1)))"
    " WHERE through IN (SELECT value FROM json_each(?1))"
)


def read_weights(connection: sqlite3.Connection, sequences: Sequence[int]) -> LearnedWeights:
    """Return learned weights (see ErasureStore.learned_weights)."""
    found = list(_places(connection, sequences))
    # For each block, how many interactions were learned from its first one on.
    learned = dict(connection.execute(LEARNED_FROM, (to_json([through for through, *_ in found]),)))
    return join_weights(
        [
            _rows(connection, through, size, sequence[places], learned[through] - places, places)
            for through, size, sequence, places in found
        ]
    )


def empty_rows(connection: sqlite3.Connection, sequences: Sequence[int]) -> list[int]:
    """Empty the rows of these interactions; return which of them had one."""
    emptied: list[int] = []
    for through, size, sequence, places in _places(connection, sequences):
        _write_rows(connection, through, size, [(place, NOTHING) for place in places])
        emptied += sequence[places].tolist()
    return emptied


def promote_rows(connection: sqlite3.Connection, promoted: Sequence[PromotedRepeat]) -> None:
    """Write the rows of repeats that replace a withdrawn first adoption."""
    by_sequence: dict[int, Row] = {
        row.sequence: {"routers": row.routers, "weights": row.weights} for row in promoted
    }
    for through, size, sequence, places in _places(connection, list(by_sequence)):
        _write_rows(
            connection,
            through,
            size,
            [(place, by_sequence[int(sequence[place])]) for place in places],
        )


def _rows(
    connection: sqlite3.Connection,
    through: int,
    size: int,
    sequence: NDArray[np.int64],
    since: NDArray[np.int64],
    places: NDArray[np.int64],
) -> LearnedWeights:
    """Read rows in place: a block is half a megabyte."""
    with connection.blobopen("learned", "columns", through, readonly=True) as blob:

        def read(start: int, length: int) -> bytes:
            blob.seek(start)
            return blob.read(length)

        rows = [
            row_of(size, place, ("negatives", "routers", "weights"), read)
            for place in places.tolist()
        ]
    negative = np.array([row["negatives"][0] for row in rows], np.int64)
    return LearnedWeights(
        sequence,
        since,
        negative,
        *(np.stack([row[name] for row in rows]) for name in ("routers", "weights")),
    )


def _places(
    connection: sqlite3.Connection, sequences: Sequence[int]
) -> Iterator[tuple[int, int, NDArray[np.int64], NDArray[np.int64]]]:
    """Yield the places of these sequences in each block that holds some.

    Yields:
        (through, size, sequence column, places) of a block.
    """
    wanted = np.array(sorted(set(sequences)), np.int64)
    while len(wanted):
        row = connection.execute(
            "SELECT through, size FROM learned WHERE through >= ? ORDER BY through LIMIT 1",
            (int(wanted[0]),),
        ).fetchone()
        if row is None:
            return
        through, size = row
        inside, wanted = wanted[wanted <= through], wanted[wanted > through]
        with connection.blobopen("learned", "columns", through, readonly=True) as blob:
            sequence = np.frombuffer(blob.read(8 * size), np.int64)
        if len(places := places_of(sequence, inside)):
            yield through, size, sequence, places


def _write_rows(
    connection: sqlite3.Connection, through: int, size: int, rows: Sequence[tuple[int, Row]]
) -> None:
    """Write rows in place.

    Only the touched pages of a block are written.
    """
    with connection.blobopen("learned", "columns", through) as blob:
        for place, values in rows:
            for start, data in row_parts(size, place, values):
                blob.seek(start)
                blob.write(data)
