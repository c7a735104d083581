"""Stores blocks of learned columns, checkpoints and epochs."""

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from propagation.adapters.neo4j.connection import Neo4jDatabase, Transaction
from propagation.adapters.neo4j.learn.checkpoints import Neo4jCheckpoints, publish_barrier
from propagation.adapters.neo4j.record.log import LogEnd, append_entry, lock_log, set_log_end
from propagation.adapters.shared.learned_blocks import (
    BANKS,
    NOTHING,
    collect_taste_written,
    find_places,
    pack_columns,
    split_row,
    unpack_block,
)
from propagation.graph_rules import DrawColumns, check_block_follows
from propagation.model import (
    I64,
    NEGATIVES,
    WRITTEN,
    Array,
    Checkpoint,
    EntryKind,
    Epoch,
    LearnedBlock,
    StagedCheckpoint,
    name_damage,
)
from propagation.ports import Lease

DRAWN_BYTES = 8 + 4 * NEGATIVES + 2 * 4
"""Bytes of an interaction in `drawn`: sequence, negatives and two scores."""
SEQUENCES_PER_READ = 64
"""The most sequences in one read of blocks.

Each sequence may lie in a block of its own, and a block may hold thousands of interactions.
"""


def build_properties(block: LearnedBlock) -> dict[str, object]:
    """Convert a block to its node's properties, without trust and combiner."""
    drawn, wrote = split_columns(len(block.sequence), pack_columns(block))
    return {
        "after": block.after,
        "through": block.through,
        "epoch": block.epoch,
        "size": len(block.sequence),
        "drawn": drawn,
        "wrote": wrote,
    }


def build_block(
    after: int,
    through: int,
    epoch: int,
    size: int,
    drawn: bytes,
    wrote: bytes,
    emptied: Sequence[int] | None = None,
    promoted: Sequence[int] | None = None,
    routers: Sequence[int] | None = None,
    weights: Sequence[float] | None = None,
    trust: bytes | None = None,
    combiner: bytes | None = None,
) -> LearnedBlock:
    """Build a block from a record's columns, with its marks applied.

    `apply_marks` describes the marks; None if the block has none. `trust` and `combiner` are None
    if they were not read or are not stored any more.
    """
    with name_damage(f"learned block {through}", after, through):
        columns = apply_marks(size, drawn, wrote, emptied, promoted, routers, weights)
    return unpack_block(after, through, epoch, size, columns, trust, combiner)


def apply_marks(
    size: int,
    drawn: bytes,
    wrote: bytes,
    emptied: Sequence[int] | None,
    promoted: Sequence[int] | None,
    routers: Sequence[int] | None,
    weights: Sequence[float] | None,
) -> bytes:
    """Apply marked rows to the packed columns.

    The commit of a withdrawal only marks rows, because a client's rows may lie in every block.
    Later commits write the marked rows into their blocks.

    Args:
        size: The number of rows in the block.
        emptied: Places of rows to clear; None if there are none.
        promoted: Places of rows that get the numbers in `routers` and `weights`.
        routers: BANKS * WRITTEN numbers for each promoted row.
        weights: Likewise.
    """
    columns = bytearray(drawn) + bytearray(wrote)
    shape = (-1, BANKS, WRITTEN)
    moved = zip(
        promoted or (),
        np.array(routers or (), np.uint16).reshape(shape),
        np.array(weights or (), np.float32).reshape(shape),
        strict=True,
    )
    for place, of_routers, of_weights in moved:
        write_row(columns, size, place, {"routers": of_routers, "weights": of_weights})
    for place in emptied or ():
        write_row(columns, size, place, NOTHING)
    return bytes(columns)


def split_columns(size: int, columns: bytes) -> tuple[bytes, bytes]:
    """Split packed columns into `drawn` and `wrote`."""
    return columns[: DRAWN_BYTES * size], columns[DRAWN_BYTES * size :]


def write_row(columns: bytearray, size: int, place: int, values: Mapping[str, Array]) -> None:
    """Write one row's values into packed columns."""
    for start, data in split_row(size, place, values):
        columns[start : start + len(data)] = data


def unpack_draw_columns(through: int, size: int, drawn: bytes) -> DrawColumns:
    """Unpack each interaction's sequence, first negative and scores.

    Args:
        drawn: The first three columns of a packed block: sequences, all NEGATIVES negatives of
            each interaction, and two scores of each.
    """
    data: Any = bytes(drawn)
    sequence = np.frombuffer(data, np.int64, size)
    negatives = np.frombuffer(data, np.int32, size * NEGATIVES, 8 * size).reshape(size, NEGATIVES)
    scores = np.frombuffer(data, np.float32, size * 2, (8 + 4 * NEGATIVES) * size).reshape(size, 2)
    return DrawColumns(through, sequence, negatives[:, 0], scores)


async def read_blocks_with_rows(
    database: Neo4jDatabase, sequences: Iterable[int]
) -> AsyncIterator[tuple[LearnedBlock, I64]]:
    """Yield the blocks that hold these interactions, with the interactions' places.

    Each block comes once, in the order of the log.
    """
    pending = np.array(sorted(set(sequences)), np.int64)
    while len(pending) and (
        rows := await database.rows(
            "learn/blocks/blocks_of_sequences", sequences=pending[:SEQUENCES_PER_READ].tolist()
        )
    ):
        for row in rows:
            block = build_block(*row)
            covered = np.searchsorted(pending, block.through, side="right")
            if len(places := find_places(block.sequence, pending[:covered])):
                yield block, places
            pending = pending[covered:]


class Neo4jLearn(Neo4jCheckpoints):
    """Stores and reads blocks, checkpoints and epochs."""

    async def commit_learned(self, lease: Lease, block: LearnedBlock) -> None:
        properties = build_properties(block)

        async def work(transaction: Transaction) -> None:
            check_block_follows(
                block.after, await transaction.value("learn/blocks/learned_through") or 0
            )
            await transaction.execute(
                "learn/blocks/create_block",
                trust=block.trust.tobytes(),
                combiner=block.combiner.tobytes(),
                **properties,
            )

        await self._database.write(work, lease)

    async def read_learned(self, after: int, limit: int) -> Sequence[LearnedBlock]:
        return [
            build_block(*row)
            for row in await self._database.rows(
                "learn/blocks/list_blocks", after=after, limit=limit
            )
        ]

    async def get_taste_written(
        self, sequences: Sequence[int]
    ) -> Mapping[int, Sequence[tuple[int, float]]]:
        return {
            sequence: written
            async for block, places in read_blocks_with_rows(self._database, sequences)
            for sequence, written in collect_taste_written(block, places).items()
        }

    async def get_learned_through(self) -> int:
        return await self._database.value("learn/blocks/learned_through") or 0

    async def replace_learned(
        self, lease: Lease, blocks: Sequence[LearnedBlock], *, first: bool
    ) -> None:
        rows = [build_properties(block) for block in blocks]

        async def work(transaction: Transaction) -> None:
            if first:
                await transaction.execute("learn/blocks/discard_staged_blocks")
            await transaction.execute("learn/blocks/stage_blocks", rows=rows)

        await self._database.write(work, lease)

    async def drop_learned(self, lease: Lease, after: int) -> None:
        await self._database.execute("learn/blocks/drop_later", lease, after=after)

    async def open_epoch(self, lease: Lease, epoch: Epoch, start: Checkpoint) -> int:
        staged = await self.stage_checkpoint(lease, start)

        async def work(transaction: Transaction) -> int:
            end = await lock_log(transaction)
            await transaction.execute("learn/blocks/drop_blocks", through=start.sequence)
            await transaction.execute("learn/blocks/publish_staged_blocks")
            await transaction.execute("learn/blocks/clear_withdrawn_rows", through=start.sequence)
            return await publish_epoch(transaction, end, EntryKind.BOOTSTRAP, epoch, staged)

        sequence = await self._database.write(work, lease)
        await self.sweep()
        return sequence

    async def fix_tau(self, lease: Lease, number: int, tau: float) -> None:
        await self._database.execute("learn/epochs/set_tau", lease, number=number, tau=tau)

    async def get_epochs(self) -> Sequence[Epoch]:
        return [
            Epoch.from_row(row) for row in await self._database.rows("learn/epochs/list_epochs")
        ]

    async def get_bootstrap_sequence(self, at: int | None = None) -> int:
        return await self._database.value("learn/epochs/bootstrap_sequence", at=at) or 0


async def publish_epoch(
    transaction: Transaction, end: LogEnd, kind: EntryKind, epoch: Epoch, start: StagedCheckpoint
) -> int:
    """Open an epoch: append its log entry, and publish its barrier.

    Args:
        kind: BOOTSTRAP or EVOLUTION.
        start: The staged barrier, which has the numbers at the epoch's start.

    Returns:
        The sequence of the log entry.
    """
    sequence = await append_entry(transaction, end, kind, (), epoch.number)
    await set_log_end(transaction, end)
    await transaction.execute(
        "learn/epochs/create_epoch", **{**epoch.model_dump(), "sequence": sequence}
    )
    await publish_barrier(transaction, start)
    return sequence
