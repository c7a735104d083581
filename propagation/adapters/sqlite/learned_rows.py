"""Single rows of learned blocks, read from and written to their place in the stored columns: a block may hold 2,048 rows, and a
client's interactions lie one here, one there."""

import sqlite3
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from propagation.adapters.columns import FORM, unpacked
from propagation.adapters.sqlite.learn import BLOCK
from propagation.model.learned import NEGATIVES, WRITTEN, LearnedBlock
from propagation.model.withdrawal import Promoted, Written

BANKS = 2
Row = dict[str, NDArray[Any]]
NOTHING: Row = {"negatives": np.full(NEGATIVES, -1, np.int32), "scores": np.full(2, np.nan, np.float32),
           "profile_cosines": np.zeros(NEGATIVES + 1, np.float32), "routers": np.zeros((BANKS, WRITTEN), np.uint16),
           "weights": np.zeros((BANKS, WRITTEN), np.float32)}


def written_by(connection: sqlite3.Connection, sequences: Sequence[int]) -> Written:
    """See ErasureStore.written."""
    wanted = np.array(sorted(set(sequences)), np.int64)
    found: list[tuple[LearnedBlock, NDArray[np.int64]]] = list(_blocks(connection, wanted))
    after = _learned_from(connection, [block.through for block, _ in found])
    parts = [Written(block.sequence[places], after[block.through] - places, block.negatives[places, 0].astype(np.int64),
                     block.routers[places], block.weights[places]) for block, places in found]
    if not parts:
        nothing = np.empty(0, np.int64)
        return Written(nothing, nothing, nothing, np.empty((0, BANKS, WRITTEN), np.uint16),
                       np.empty((0, BANKS, WRITTEN), np.float32))
    return Written(*(np.concatenate([getattr(part, name) for part in parts])
                     for name in ("sequence", "since", "negative", "routers", "weights")))


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
        if len(places := _places_of(block.sequence, inside)):
            yield block, places


def _places_of(sequence: NDArray[np.int64], wanted: NDArray[np.int64]) -> NDArray[np.int64]:
    places = np.searchsorted(sequence, wanted)
    known = places < len(sequence)
    known[known] = sequence[places[known]] == wanted[known]
    return places[known]


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
        if len(places := _places_of(sequence, inside)):
            yield through, size, sequence, places


def _write_rows(connection: sqlite3.Connection, through: int, size: int,
                rows: Sequence[tuple[int, Row]]) -> None:
    """In place, so that only the touched pages of a block are written."""
    with connection.blobopen("learned", "columns", through) as blob:
        start = 0
        for name, dtype, shape in FORM:
            width = np.dtype(dtype).itemsize * int(np.prod(shape, dtype=np.int64))
            for place, values in rows:
                if name in values:
                    blob.seek(start + int(place) * width)
                    blob.write(np.ascontiguousarray(values[name], dtype).tobytes())
            start += size * width
