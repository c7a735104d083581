"""Single rows of learned blocks, read from and written to their place in the stored columns: a block may hold 2,048 rows, and a
client's interactions lie one here, one there."""

import sqlite3
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from propagation.adapters.columns import row_parts, unpacked
from propagation.adapters.emptied import NOTHING, Row, places_of, written_of
from propagation.adapters.sqlite.learn import BLOCK
from propagation.model.learned import LearnedBlock
from propagation.model.withdrawal import Promoted, Written


def written_by(connection: sqlite3.Connection, sequences: Sequence[int]) -> Written:
    """See ErasureStore.written."""
    wanted = np.array(sorted(set(sequences)), np.int64)
    found = list(_blocks(connection, wanted))
    return written_of(found, _learned_from(connection, [block.through for block, _ in found]))


def empty_rows(connection: sqlite3.Connection, sequences: Sequence[int]) -> list[int]:
    """The rows of these interactions hold nothing from now on; which of them had one."""
    emptied: list[int] = []
    for through, size, sequence, places in _places(connection, sequences):
        _write_rows(connection, through, size, [(place, NOTHING) for place in places])
        emptied += sequence[places].tolist()
    return emptied


def promote_rows(connection: sqlite3.Connection, promoted: Sequence[Promoted]) -> None:
    by_sequence: dict[int, Row] = {row.sequence: {"routers": row.routers, "weights": row.weights} for row in promoted}
    for through, size, sequence, places in _places(connection, list(by_sequence)):
        _write_rows(connection, through, size, [(place, by_sequence[int(sequence[place])]) for place in places])


def _blocks(connection: sqlite3.Connection, wanted: NDArray[np.int64]) -> Iterator[tuple[LearnedBlock, NDArray[np.int64]]]:
    """Each block that holds some of these sequences, and their places in it."""
    while len(wanted):
        row = connection.execute(f"SELECT {BLOCK} FROM learned WHERE through >= ? ORDER BY through LIMIT 1",
                                 (int(wanted[0]),)).fetchone()
        if row is None:
            return
        block = unpacked(*row)
        inside, wanted = wanted[wanted <= block.through], wanted[wanted > block.through]
        if len(places := places_of(block.sequence, inside)):
            yield block, places


def _learned_from(connection: sqlite3.Connection, throughs: Sequence[int]) -> dict[int, int]:
    """For each block, how many interactions were learned from its first one on."""
    if not throughs:
        return {}
    rows = connection.execute("SELECT through, size FROM learned WHERE through >= ? ORDER BY through DESC", (min(throughs),))
    counts, total, wanted = {}, 0, set(throughs)
    for through, size in rows:
        total += size
        if through in wanted:
            counts[through] = total
    return counts


def _places(connection: sqlite3.Connection,
            sequences: Sequence[int]) -> Iterator[tuple[int, int, NDArray[np.int64], NDArray[np.int64]]]:
    """(through, size, sequence column, places) of each block that holds some of these."""
    wanted = np.array(sorted(set(sequences)), np.int64)
    while len(wanted):
        row = connection.execute("SELECT through, size FROM learned WHERE through >= ? ORDER BY through LIMIT 1",
                                 (int(wanted[0]),)).fetchone()
        if row is None:
            return
        through, size = row
        inside, wanted = wanted[wanted <= through], wanted[wanted > through]
        with connection.blobopen("learned", "columns", through, readonly=True) as blob:
            sequence = np.frombuffer(blob.read(8 * size), np.int64)
        if len(places := places_of(sequence, inside)):
            yield through, size, sequence, places


def _write_rows(connection: sqlite3.Connection, through: int, size: int, rows: Sequence[tuple[int, Row]]) -> None:
    """In place, so that only the touched pages of a block are written."""
    with connection.blobopen("learned", "columns", through) as blob:
        for place, values in rows:
            for start, data in row_parts(size, place, values):
                blob.seek(start)
                blob.write(data)
