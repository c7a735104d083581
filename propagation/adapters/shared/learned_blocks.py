"""Learned blocks as every graph store keeps, withdraws and exports them.

The permanent columns of a block are packed into one blob.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import numpy as np

from propagation.model import (
    I32,
    I64,
    NEGATIVES,
    WRITTEN,
    Array,
    Bools,
    ClientKind,
    LearnedBlock,
    LearnedWeights,
    get_kind,
    index_of,
    name_damage,
)

TASTE = 1
FORM = {
    "sequence": np.dtype(np.int64),
    "negatives": np.dtype((np.int32, (NEGATIVES,))),
    "scores": np.dtype((np.float32, (2,))),
    "profile_cosines": np.dtype((np.float32, (NEGATIVES + 1,))),
    "routers": np.dtype((np.uint16, (2, WRITTEN))),
    "weights": np.dtype((np.float32, (2, WRITTEN))),
}
"""The stored columns, in order, with the type of one row."""
BYTES_PER_ROW = sum(column.itemsize for column in FORM.values())
BEFORE_SCORES = FORM["sequence"].itemsize + FORM["negatives"].itemsize
"""Bytes that a row takes in the first two columns of a block: its sequence and its negatives."""


def pack_columns(block: LearnedBlock) -> bytes:
    """Return a block's permanent columns as bytes, in the order of FORM."""
    return b"".join(
        np.ascontiguousarray(getattr(block, name), dtype.base).tobytes()
        for name, dtype in FORM.items()
    )


def is_ascending(sequence: I64, after: int, through: int) -> bool:
    """Return whether sequences ascend, after `after` and up to `through`."""
    ends = np.concatenate(([after], sequence, [through + 1]))
    return bool((ends[1:] > ends[:-1]).all())


def unpack_block(
    after: int,
    through: int,
    epoch: int,
    size: int,
    columns: bytes,
    trust: bytes | None = None,
    combiner: bytes | None = None,
) -> LearnedBlock:
    """Return the block of packed columns.

    Its arrays are writable: numba would compile every kernel again for read-only ones.

    Args:
        size: The number of rows.
        columns: As `pack_columns` returns them.
        trust: None if it is not stored any more; then the block's array is [size, 2, 0].
        combiner: None if it is not stored any more; then the block's array is empty.

    Raises:
        DamagedNumbers: The size is wrong, the sequences do not ascend, or a number is impossible.
    """
    parts: dict[str, Array] = {}
    start = 0
    with name_damage(f"learned block {through}", after, through):
        own = bytearray(columns)
        for name, dtype in FORM.items():
            parts[name] = np.frombuffer(own, dtype, size, start)
            start += parts[name].nbytes
        increments = np.frombuffer(bytearray(trust or b""), np.float32)
        block = LearnedBlock(
            after=after,
            through=through,
            epoch=epoch,
            **parts,
            trust=increments.reshape(size, 2, -1)
            if len(increments)
            else np.zeros((size, 2, 0), np.float32),
            combiner=np.frombuffer(bytearray(combiner or b""), np.float64),
        )
        numbers = (block.profile_cosines, block.weights, block.trust, block.combiner)
        if not (
            len(own) == start
            and is_ascending(block.sequence, after, through)
            and all(np.isfinite(part).all() for part in numbers)
            and (block.weights >= 0).all()
            and (block.negatives >= -1).all()
        ):
            raise ValueError("its size, its sequences or its numbers are impossible")
    return block


def split_row(size: int, place: int, values: Mapping[str, Array]) -> Iterator[tuple[int, bytes]]:
    """Yield one row's values as bytes, with their offsets in packed columns.

    Args:
        size: The number of rows in the block.
        place: The row.
        values: By column name; columns without values are left out.
    """
    start = 0
    for name, dtype in FORM.items():
        if name in values:
            row = np.ascontiguousarray(values[name], dtype.base).tobytes()
            yield start + place * dtype.itemsize, row
        start += size * dtype.itemsize


def collect_taste_written(block: LearnedBlock, places: I64) -> dict[int, list[tuple[int, float]]]:
    """Return the weights that rows of a block wrote to taste.

    Returns:
        (router, weight) pairs by sequence, largest weight first, equal weights by router. Rows that
        wrote nothing are left out.
    """
    written = {int(block.sequence[place]): _list_written(block, place, TASTE) for place in places}
    return {
        sequence: sorted(pairs, key=lambda pair: (-pair[1], pair[0]))
        for sequence, pairs in written.items()
        if pairs
    }


def _list_written(
    columns: LearnedBlock | LearnedWeights, place: int, bank: int
) -> list[tuple[int, float]]:
    """Return the (router, weight) pairs that a row wrote to a bank."""
    return [
        (router, weight)
        for router, weight in zip(
            columns.routers[place, bank].tolist(),
            columns.weights[place, bank].tolist(),
            strict=True,
        )
        if weight > 0
    ]


BANKS = 2
NO_WEIGHTS = LearnedWeights(
    np.empty(0, np.int64),
    np.empty(0, np.int64),
    np.empty(0, np.int64),
    np.empty((0, BANKS, WRITTEN), np.uint16),
    np.empty((0, BANKS, WRITTEN), np.float32),
)
Row = dict[str, Array]
NOTHING: Row = {
    "negatives": np.full(NEGATIVES, -1, np.int32),
    "scores": np.full(2, np.nan, np.float32),
    "profile_cosines": np.zeros(NEGATIVES + 1, np.float32),
    "routers": np.zeros((BANKS, WRITTEN), np.uint16),
    "weights": np.zeros((BANKS, WRITTEN), np.float32),
}

REMOVED_DRAWS = (
    "learned block {} names removed items in what was drawn for {} interactions;"
    " `propagation retract --wipe` takes them out"
)
"""What the check of a store says of a block, with its number and how many rows."""


def mark_items(refs: Iterable[int]) -> Bools:
    """Mark the rows of the items among refs, [largest row + 1]."""
    rows = [index_of(ref) for ref in refs if get_kind(ref) == ClientKind.ITEM]
    marked = np.zeros(max(rows, default=-1) + 1, np.bool_)
    marked[rows] = True
    return marked


def find_removed_items(refs: Iterable[int], given: int) -> Bools:
    """Mark the rows of removed items, [given].

    Args:
        refs: Of all items that there are.
        given: How many rows items ever got.
    """
    removed = np.ones(given, np.bool_)
    there_are = mark_items(refs)[:given]
    removed[: len(there_are)] = ~there_are
    return removed


def find_draws(negatives: bytes, marked: Bools) -> Bools:
    """Tell which negatives are marked items, [B,4].

    Args:
        negatives: The packed column of a block, or those of several blocks.
        marked: Items by row; later rows are not marked.
    """
    rows: I32 = np.frombuffer(negatives, np.int32)
    found = np.zeros(len(rows), np.bool_)
    known = (rows >= 0) & (rows < len(marked))
    found[known] = marked[rows[known]]
    return found.reshape(-1, NEGATIVES)


def count_rows_naming(
    blocks: Sequence[tuple[int, bytes]], marked: Bools
) -> Iterator[tuple[int, int]]:
    """Count rows of blocks whose draws name marked items.

    It searches all blocks at once, because a store may have one block for each interaction.

    Args:
        blocks: (through, packed negatives) of each block.
        marked: Items by row; later rows are not marked.

    Yields:
        (through, rows) of each block that has such rows.
    """
    found = find_draws(b"".join(negatives for _, negatives in blocks), marked).any(axis=1)
    ends = np.cumsum([len(negatives) // (4 * NEGATIVES) for _, negatives in blocks])
    of_block = np.searchsorted(ends, np.flatnonzero(found), side="right")
    for block, rows in zip(*np.unique(of_block, return_counts=True), strict=True):
        yield blocks[int(block)][0], int(rows)


def remove_draws(size: int, columns: bytes, marked: Bools) -> Iterator[tuple[int, Row]]:
    """Yield the rows of a block that name marked items, without these.

    An item's place among the negatives becomes -1, its cosine 0, and the score of a first negative
    NaN, as where none was drawn. Other negatives keep their places.

    Args:
        columns: Packed columns, whole.
        marked: Items by row; later rows are not marked.

    Yields:
        (place, values) of a row.
    """
    found = find_draws(columns[8 * size : BEFORE_SCORES * size], marked)
    parts: Row = {}
    start = 0
    for name, dtype in FORM.items():
        parts[name] = np.frombuffer(columns, dtype, size, start)
        start += parts[name].nbytes
    for place in np.flatnonzero(found.any(axis=1)).tolist():
        gone = found[place]
        row: Row = {
            name: parts[name][place].copy() for name in ("negatives", "scores", "profile_cosines")
        }
        row["negatives"][gone] = -1
        row["profile_cosines"][1:][gone] = 0
        if gone[0]:
            row["scores"][1] = np.nan
        yield place, row


def find_places(column: I64, sequences: I64) -> I64:
    """Return the places of some sequences in a block's ascending column.

    Sequences that the column lacks are left out.
    """
    places = np.searchsorted(column, sequences)
    known = places < len(column)
    known[known] = column[places[known]] == sequences[known]
    return places[known]


def build_weights_of_rows(block: LearnedBlock, places: I64, learned: int) -> LearnedWeights:
    """Return the weights that the rows at these places wrote.

    Args:
        learned: How many interactions were learned from the block's first one on.
    """
    return LearnedWeights(
        block.sequence[places],
        learned - places,
        block.negatives[places, 0].astype(np.int64),
        block.routers[places],
        block.weights[places],
    )


def join_weights(parts: Sequence[LearnedWeights]) -> LearnedWeights:
    """Join parts that are in the order of sequences."""
    return LearnedWeights(
        *(
            np.concatenate([getattr(part, name) for part in (NO_WEIGHTS, *parts)])
            for name in ("sequence", "since", "negative", "routers", "weights")
        )
    )


def list_written_records(
    written: LearnedWeights, named: Callable[[int], str | None]
) -> Iterator[Mapping[str, object]]:
    """Yield what each event wrote to each bank, as (router, weight).

    Args:
        named: Returns the exported name of an item from its row; None for row -1 (no item), or if
            the item was forgotten.

    Source: docs/numbers.md, rule 5.
    """
    for place, sequence in enumerate(written.sequence.tolist()):
        banks = {
            name: _list_written(written, place, bank)
            for bank, name in enumerate(("session", "taste"))
        }
        yield {"sequence": sequence, "negative": named(int(written.negative[place])), **banks}
