"""Checkpoints on SQLite: arrays in parts, written in small transactions.

Small transactions hold up no acknowledgement.
"""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import islice

import numpy as np
import orjson
from numpy.typing import NDArray

from propagation.adapters.shared.checkpoint_pieces import join_pieces, split_into_pieces
from propagation.adapters.sqlite.connection import (
    SqlitePart,
    read_next_number,
    reads,
    to_json,
    writes,
    writes_under_lease,
)
from propagation.model import Checkpoint, LeaseLost, StagedCheckpoint
from propagation.ports import Lease

PART_BYTES = 1 << 20
PARTS_A_SWEEP = 16
PARTS_AT_ONCE = 24
Part = tuple[str, int, str, str, bytes]


class SqliteCheckpoints(SqlitePart):
    """Keeps the newest barrier, the newest other checkpoint, and one being written."""

    async def save_checkpoint(self, lease: Lease, checkpoint: Checkpoint) -> None:
        staged = await self.stage_checkpoint(lease, checkpoint)
        await self._database.write(
            lambda connection: publish_checkpoint(connection, staged.id), lease
        )
        await self.sweep()

    async def stage_checkpoint(
        self, lease: Lease, checkpoint: Checkpoint, onto: StagedCheckpoint | None = None
    ) -> StagedCheckpoint:
        """Write a checkpoint without making it visible."""
        id_ = await self._begin(lease, checkpoint, onto)
        parts = _yield_parts(checkpoint)
        while some := list(islice(parts, PARTS_AT_ONCE)):
            await self._put_parts(id_, some)
        # now: otherwise a later commit would move the log into the file, while someone waits
        await self._database.write(
            lambda connection: connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone(),
            alone=True,
        )
        return StagedCheckpoint(id_, checkpoint.sequence)

    @writes_under_lease
    def _begin(
        self,
        connection: sqlite3.Connection,
        checkpoint: Checkpoint,
        onto: StagedCheckpoint | None,
    ) -> int:
        """Begin a staged checkpoint, or go on with one; return its number."""
        if onto is not None:
            _check_staged(
                connection.execute(
                    "UPDATE checkpoint SET sequence = ? WHERE id = ? AND NOT complete",
                    (checkpoint.sequence, onto.id),
                )
            )
            return onto.id
        connection.execute("DELETE FROM checkpoint WHERE NOT complete")
        id_ = read_next_number(connection, "checkpoint")
        connection.execute(
            "INSERT INTO checkpoint (id, sequence, epoch, barrier) VALUES (?, ?, ?, ?)",
            (id_, checkpoint.sequence, checkpoint.epoch, checkpoint.barrier),
        )
        return id_

    @writes
    def _put_parts(self, connection: sqlite3.Connection, id_: int, parts: Sequence[Part]) -> None:
        connection.executemany(
            "INSERT INTO checkpoint_part VALUES (?, ?, ?, ?, ?, ?)",
            [(id_, *part) for part in parts],
        )

    async def sweep(self) -> None:
        """Drop parts of old checkpoints and covered increments of trust.

        Each commit drops some of them.
        """
        while await self._database.write(_sweep):
            pass

    def sweep_after_commit(self) -> None:
        """Sweep in the background."""
        self._database.after_commit.start("dropping old checkpoints", self.sweep)

    @reads
    def get_newest_checkpoint(
        self, connection: sqlite3.Connection, *, barrier: bool = False
    ) -> Checkpoint | None:
        row = connection.execute(
            "SELECT id, sequence, epoch, barrier FROM checkpoint WHERE complete AND barrier >= ?"
            " ORDER BY id DESC LIMIT 1",
            (barrier,),
        ).fetchone()
        if row is None:
            return None
        arrays: dict[str, NDArray[np.generic]] = {}
        for name, dtype, shape in connection.execute(
            "SELECT name, dtype, shape FROM checkpoint_part WHERE checkpoint = ? AND part = 0",
            (row[0],),
        ).fetchall():
            pieces = connection.execute(
                "SELECT data FROM checkpoint_part WHERE checkpoint = ? AND name = ? ORDER BY part",
                (row[0], name),
            )
            arrays[name] = join_pieces(
                name, dtype, orjson.loads(shape), (data for (data,) in pieces)
            )
        return Checkpoint(sequence=row[1], epoch=row[2], barrier=bool(row[3]), arrays=arrays)


def publish_checkpoint(connection: sqlite3.Connection, id_: int) -> None:
    """Make a checkpoint visible and remove older ones, except the newest barrier.

    Their parts go with the next sweep. Nothing reads an older barrier, and it would hold what was
    erased since.
    """
    _check_staged(connection.execute("UPDATE checkpoint SET complete = 1 WHERE id = ?", (id_,)))
    connection.execute(
        "DELETE FROM checkpoint WHERE id < ?1 AND id <> coalesce((SELECT max(id) FROM checkpoint"
        " WHERE complete AND barrier), 0)",
        (id_,),
    )


def _check_staged(changed: sqlite3.Cursor) -> None:
    """Raise LeaseLost if a change found no staged checkpoint."""
    if changed.rowcount == 0:
        raise LeaseLost("another checkpoint was begun before this one was complete")


def drop_trust(connection: sqlite3.Connection, sequence: int) -> None:
    """Delete increments of trust that a checkpoint covers."""
    with _skip_zeroing(connection):
        connection.execute("DELETE FROM trust_delta WHERE through <= ?", (sequence,))


def _sweep(connection: sqlite3.Connection) -> int:
    with _skip_zeroing(connection):
        parts = connection.execute(
            "DELETE FROM checkpoint_part WHERE rowid IN (SELECT rowid FROM checkpoint_part WHERE"
            " checkpoint NOT IN (SELECT id FROM checkpoint) LIMIT ?)",
            (PARTS_A_SWEEP,),
        ).rowcount
        deltas = connection.execute(
            "DELETE FROM trust_delta WHERE through IN (SELECT through FROM trust_delta WHERE "
            "through <="
            " (SELECT max(sequence) FROM checkpoint WHERE complete) ORDER BY through LIMIT ?)",
            (PARTS_A_SWEEP,),
        ).rowcount
    return parts + deltas


@contextmanager
def _skip_zeroing(connection: sqlite3.Connection) -> Iterator[None]:
    """Switch secure_delete off for hundreds of megabytes of numbers (see forget/wiping.py)."""
    connection.execute("PRAGMA secure_delete=OFF")
    try:
        yield
    finally:
        connection.execute("PRAGMA secure_delete=ON")


def _yield_parts(checkpoint: Checkpoint) -> Iterator[Part]:
    """Take a checkpoint's arrays out one by one, and yield their parts."""
    for name in list(checkpoint.arrays):
        array = checkpoint.arrays.pop(name)
        for part, data in split_into_pieces(array, PART_BYTES):
            yield name, part, array.dtype.str, to_json(list(array.shape)), data
