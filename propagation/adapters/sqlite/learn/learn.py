"""LearnStore on SQLite."""

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing

import numpy as np

from propagation.adapters.shared.learned_blocks import (
    collect_taste_written,
    find_places,
    pack_columns,
    unpack_block,
)
from propagation.adapters.sqlite.connection import (
    Directory,
    read_one,
    reads,
    to_json,
    writes_under_lease,
)
from propagation.adapters.sqlite.learn.checkpoints import SqliteCheckpoints, publish_barrier
from propagation.adapters.sqlite.record.log import append_entry
from propagation.graph_rules import check_block_follows
from propagation.model import Checkpoint, EntryKind, Epoch, LearnedBlock, StagedCheckpoint
from propagation.ports import Lease

BLOCK = "start, through, epoch, size, columns"
BLOCKS_OF = (
    f"SELECT {BLOCK} FROM learned WHERE through IN (SELECT (SELECT min(through) FROM learned"
    " WHERE through >= value) FROM json_each(?)) ORDER BY through"
)
PUT_BLOCK = f"INSERT INTO {{}} ({BLOCK}) VALUES (?, ?, ?, ?, ?)"
EPOCH = ", ".join(Epoch.model_fields)
EPOCH_ROWS = 2
"""Rows that the sequence of the newest bootstrap is read from."""


class SqliteLearn(SqliteCheckpoints):
    """Stores blocks of learned columns, checkpoints and epochs."""

    async def commit_learned(self, lease: Lease, block: LearnedBlock) -> None:
        await self._commit_row(lease, block, _build_row(block))  # packed before the writer's turn

    @writes_under_lease
    def _commit_row(
        self,
        connection: sqlite3.Connection,
        block: LearnedBlock,
        row: Sequence[object],
    ) -> None:
        check_block_follows(block.after, read_learned_through(connection))
        connection.execute(PUT_BLOCK.format("learned"), row)
        connection.execute(
            "INSERT INTO trust_delta VALUES (?, ?, ?)",
            (block.through, block.trust.tobytes(), block.combiner.tobytes()),
        )

    @reads
    def read_learned(
        self, connection: sqlite3.Connection, after: int, limit: int
    ) -> Sequence[LearnedBlock]:
        rows = connection.execute(
            "SELECT start, l.through, epoch, size, columns, trust, combiner FROM learned l "
            "LEFT JOIN trust_delta t"
            " ON t.through = l.through WHERE l.through > ? ORDER BY l.through LIMIT ?",
            (after, limit),
        ).fetchall()  # an open cursor would keep this connection at its snapshot after an error
        return [unpack_block(*row) for row in rows]

    @reads
    def get_taste_written(
        self, connection: sqlite3.Connection, sequences: Sequence[int]
    ) -> Mapping[int, Sequence[tuple[int, float]]]:
        distinct = np.array(sorted(set(sequences)), np.int64)
        return {
            sequence: written
            for block in read_blocks_of(connection, sequences)
            for sequence, written in collect_taste_written(
                block, find_places(block.sequence, distinct)
            ).items()
        }

    async def get_learned_through(self) -> int:
        return await self._database.read(read_learned_through)

    async def replace_learned(
        self, lease: Lease, blocks: Sequence[LearnedBlock], *, first: bool
    ) -> None:
        await self._stage_rows(lease, [_build_row(block) for block in blocks], first)

    @writes_under_lease
    def _stage_rows(
        self,
        connection: sqlite3.Connection,
        rows: Sequence[Sequence[object]],
        first: bool,
    ) -> None:
        if first:
            connection.execute("DELETE FROM staged_learned")
        connection.executemany(PUT_BLOCK.format("staged_learned"), rows)

    @writes_under_lease
    def drop_learned(self, connection: sqlite3.Connection, after: int) -> None:
        for rows in (
            "learned WHERE through",
            "trust_delta WHERE through",
            "checkpoint WHERE sequence",
        ):
            connection.execute(f"DELETE FROM {rows} > ?", (after,))

    async def open_epoch(self, lease: Lease, epoch: Epoch, start: Checkpoint) -> int:
        staged = await self.stage_checkpoint(lease, start)
        sequence = await self._publish_epoch(lease, epoch, staged)
        await self.sweep()
        return sequence

    @writes_under_lease
    def _publish_epoch(
        self, connection: sqlite3.Connection, epoch: Epoch, start: StagedCheckpoint
    ) -> int:
        connection.execute("DELETE FROM learned WHERE start < ?", (start.sequence,))
        connection.execute(f"INSERT INTO learned ({BLOCK}) SELECT {BLOCK} FROM staged_learned")
        connection.execute("DELETE FROM staged_learned")
        connection.execute("UPDATE vacant SET learned = 0 WHERE sequence <= ?", (start.sequence,))
        return publish_epoch(connection, self._directory, EntryKind.BOOTSTRAP, epoch, start)

    @writes_under_lease
    def fix_tau(self, connection: sqlite3.Connection, number: int, tau: float) -> None:
        connection.execute("UPDATE epoch SET tau = ? WHERE number = ?", (tau, number))

    @reads
    def get_epochs(self, connection: sqlite3.Connection) -> Sequence[Epoch]:
        return [
            Epoch.from_row(row)
            for row in connection.execute(f"SELECT {EPOCH} FROM epoch ORDER BY number")
        ]

    async def get_bootstrap_sequence(self, at: int | None = None) -> int:
        return await self._database.read(
            lambda connection: read_bootstrap_sequence(connection, at),
            EPOCH_ROWS if at is None else None,
        )


def read_bootstrap_sequence(connection: sqlite3.Connection, at: int | None = None) -> int:
    """Return the sequence of the newest bootstrap, as get_bootstrap_sequence does."""
    return (
        read_one(
            connection,
            "SELECT sequence FROM epoch WHERE number = (SELECT era FROM epoch WHERE sequence <="
            " coalesce(?, sequence) ORDER BY number DESC LIMIT 1)",
            at,
        )
        or 0
    )


def publish_epoch(
    connection: sqlite3.Connection,
    directory: Directory,
    kind: EntryKind,
    epoch: Epoch,
    start: StagedCheckpoint,
) -> int:
    """Open an epoch at its own log entry; return the sequence.

    `start` becomes the barrier at that entry.
    """
    sequence = append_entry(connection, directory, kind, (), epoch.number)
    opened = epoch.model_copy(update={"sequence": sequence})
    connection.execute(
        f"INSERT INTO epoch ({EPOCH}) VALUES (?, ?, ?, ?, ?, ?, ?)",
        tuple(opened.model_dump().values()),
    )
    publish_barrier(connection, start)
    return sequence


def read_blocks_of(
    connection: sqlite3.Connection, sequences: Sequence[int]
) -> Iterator[LearnedBlock]:
    """Yield the learned blocks of these interactions, without trust, in order."""
    # closed: an open cursor would keep this connection at its snapshot after an error
    with closing(connection.execute(BLOCKS_OF, (to_json(list(sequences)),))) as rows:
        for row in rows:
            yield unpack_block(*row)


def read_learned_through(connection: sqlite3.Connection) -> int:
    """Return the last learned sequence."""
    return int(read_one(connection, "SELECT coalesce(max(through), 0) FROM learned"))


def _build_row(block: LearnedBlock) -> tuple[object, ...]:
    return block.after, block.through, block.epoch, len(block.sequence), pack_columns(block)
