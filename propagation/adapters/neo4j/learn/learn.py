"""Stores blocks of learned columns, checkpoints and epochs."""

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from propagation.adapters.neo4j.connection import Neo4jDatabase, Transaction
from propagation.adapters.neo4j.learn.checkpoints import Neo4jCheckpoints, publish_checkpoint
from propagation.adapters.neo4j.record.log import append_entry, lock_log, set_log_end
from propagation.adapters.shared.learned_blocks import (
    BANKS,
    NOTHING,
    collect_taste_written,
    find_places,
    pack_columns,
    split_row,
    unpack_block,
)
from propagation.graph_rules.claims import DrawColumns
from propagation.graph_rules.commit_checks import check_block_follows
from propagation.model import (
    I64,
    NEGATIVES,
    WRITTEN,
    Array,
    Checkpoint,
    EntryKind,
    Epoch,
    LearnedBlock,
    name_damage,
)
from propagation.ports import Lease

DRAWN_BYTES = 8 + 4 * NEGATIVES + 2 * 4
"""Bytes of each interaction in `drawn`: its sequence, its negatives, its two scores."""
SEQUENCES_PER_READ = 64
"""Each may lie in a block of its own, and a block may hold thousands of interactions."""


def build_properties(block: LearnedBlock) -> dict[str, object]:
    """Convert a block for cypher/learn/blocks/stage_blocks, and create_block without its trust."""
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
    """Convert a row to a block, with its marked rows applied.

    See `apply_marks`.
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

    A withdrawal marks rows in its commit, and they are written into the block after it, because a
    client's rows may lie in every block.

    Args:
        emptied: Places of rows to clear.
        promoted: Places of rows that get the numbers in `routers` and `weights`.
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
        _write(columns, size, place, {"routers": of_routers, "weights": of_weights})
    for place in emptied or ():
        _write(columns, size, place, NOTHING)
    return bytes(columns)


def split_columns(size: int, columns: bytes) -> tuple[bytes, bytes]:
    """Split packed columns into `drawn` and `wrote`."""
    return columns[: DRAWN_BYTES * size], columns[DRAWN_BYTES * size :]


def _write(columns: bytearray, size: int, place: int, values: Mapping[str, Array]) -> None:
    for start, data in split_row(size, place, values):
        columns[start : start + len(data)] = data


def unpack_draw_columns(through: int, size: int, drawn: bytes) -> DrawColumns:
    """Unpack a row of cypher/learn/blocks/draws_of_sequences."""
    data: Any = bytes(drawn)
    sequence = np.frombuffer(data, np.int64, size)
    negatives = np.frombuffer(data, np.int32, size * NEGATIVES, 8 * size).reshape(size, NEGATIVES)
    scores = np.frombuffer(data, np.float32, size * 2, (8 + 4 * NEGATIVES) * size).reshape(size, 2)
    return DrawColumns(through, sequence, negatives[:, 0], scores)


async def read_blocks_with_rows(
    database: Neo4jDatabase, sequences: Iterable[int]
) -> AsyncIterator[tuple[LearnedBlock, I64]]:
    """Yield the blocks that hold these interactions, and their places.

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
    """Blocks of learned columns, checkpoints, epochs."""

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
        found: dict[int, Sequence[tuple[int, float]]] = {}
        async for block, places in read_blocks_with_rows(self._database, sequences):
            found |= collect_taste_written(block, places)
        return found

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
        id_ = (await self.stage_checkpoint(lease, start)).id

        async def work(transaction: Transaction) -> int:
            end = await lock_log(transaction)
            sequence = await append_entry(transaction, end, EntryKind.BOOTSTRAP, (), epoch.number)
            await set_log_end(transaction, end)
            await transaction.execute("learn/blocks/drop_blocks", through=start.sequence)
            await transaction.execute("learn/blocks/publish_staged_blocks")
            await transaction.execute("learn/blocks/clear_withdrawn_rows", through=start.sequence)
            await create_epoch(transaction, epoch, sequence)
            await publish_checkpoint(transaction, id_)
            await transaction.execute("learn/blocks/drop_trust", through=start.sequence)
            return sequence

        sequence = await self._database.write(work, lease)
        await self.sweep()
        return sequence

    async def get_current_epoch(self) -> Epoch | None:
        epochs = await self.get_epochs()
        return epochs[-1] if epochs else None

    async def fix_tau(self, lease: Lease, number: int, tau: float) -> None:
        await self._database.execute("learn/epochs/set_tau", lease, number=number, tau=tau)

    async def get_epochs(self) -> Sequence[Epoch]:
        return [
            Epoch.from_row(row) for row in await self._database.rows("learn/epochs/list_epochs")
        ]


async def create_epoch(transaction: Transaction, epoch: Epoch, sequence: int) -> None:
    """Open an epoch at a sequence."""
    await transaction.execute(
        "learn/epochs/create_epoch", **{**epoch.model_dump(), "sequence": sequence}
    )
