"""Checkpoints on SQLite: arrays in parts, written in small transactions.

A large transaction would hold up acknowledgements.
"""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import islice

import orjson

from propagation.adapters.shared.checkpoint_pieces import join_pieces, take_pieces
from propagation.adapters.sqlite.connection import (
    SqlitePart,
    read_next_number,
    reads,
    to_json,
    writes,
    writes_under_lease,
)
from propagation.graph_rules import check_staged, list_outdated_checkpoints
from propagation.model import Checkpoint, StagedCheckpoint
from propagation.ports import Lease

PARTS_A_SWEEP = 16
PARTS_AT_ONCE = 24


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
        pieces = take_pieces(checkpoint)
        while parts := [
            (id_, name, part, dtype, to_json(shape), data)
            for name, part, dtype, shape, data in islice(pieces, PARTS_AT_ONCE)
        ]:
            await self._put_parts(parts)
        # Now: otherwise a later commit would move the log into the file while its caller waits.
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
        """Begin a staged checkpoint, or continue `onto`; return its id."""
        if onto is not None:
            check_staged(
                connection.execute(
                    "UPDATE checkpoint SET sequence = ? WHERE id = ? AND NOT complete",
                    (checkpoint.sequence, onto.id),
                ).rowcount
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
    def _put_parts(
        self, connection: sqlite3.Connection, parts: Sequence[tuple[object, ...]]
    ) -> None:
        connection.executemany("INSERT INTO checkpoint_part VALUES (?, ?, ?, ?, ?, ?)", parts)

    async def sweep(self) -> None:
        """Drop parts of old checkpoints and covered increments of trust.

        This takes many small commits.
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
        arrays = {
            name: join_pieces(
                name,
                dtype,
                orjson.loads(shape),
                (
                    data
                    for (data,) in connection.execute(
                        "SELECT data FROM checkpoint_part WHERE checkpoint = ? AND name = ?"
                        " ORDER BY part",
                        (row[0], name),
                    )
                ),
            )
            for name, dtype, shape in connection.execute(
                "SELECT name, dtype, shape FROM checkpoint_part WHERE checkpoint = ? AND part = 0",
                (row[0],),
            ).fetchall()
        }
        return Checkpoint(sequence=row[1], epoch=row[2], barrier=bool(row[3]), arrays=arrays)


def publish_checkpoint(connection: sqlite3.Connection, id_: int) -> None:
    """Make a checkpoint visible, and remove the checkpoints that it replaces.

    The next sweep removes their parts.

    Raises:
        LeaseLost: Another checkpoint was begun meanwhile.
    """
    check_staged(
        connection.execute("UPDATE checkpoint SET complete = 1 WHERE id = ?", (id_,)).rowcount
    )
    found = connection.execute("SELECT id, barrier, complete FROM checkpoint").fetchall()
    connection.executemany(
        "DELETE FROM checkpoint WHERE id = ?",
        [(old,) for old in list_outdated_checkpoints(found, id_)],
    )


def publish_barrier(connection: sqlite3.Connection, barrier: StagedCheckpoint) -> None:
    """Make a barrier visible, and delete the trust that it covers.

    Raises:
        LeaseLost: Another checkpoint was begun meanwhile.
    """
    publish_checkpoint(connection, barrier.id)
    with _skip_zeroing(connection):
        connection.execute("DELETE FROM trust_delta WHERE through <= ?", (barrier.sequence,))


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
    """Switch secure_delete off while numbers are deleted (see forget/wiping.py).

    They may be hundreds of megabytes, and name no client.
    """
    connection.execute("PRAGMA secure_delete=OFF")
    try:
        yield
    finally:
        connection.execute("PRAGMA secure_delete=ON")
