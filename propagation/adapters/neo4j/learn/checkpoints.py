"""Checkpoints: arrays in pieces of at most a MiB.

A transaction writes many pieces, about four MiB together: most arrays are far smaller than a MiB,
and each commit costs the server a write to its disk.
"""

from typing import Any

from propagation.adapters.neo4j.connection import Transaction
from propagation.adapters.neo4j.maintenance.sweeper import Neo4jSweeper
from propagation.adapters.shared.checkpoint_pieces import join_pieces, take_pieces
from propagation.graph_rules import check_staged, list_outdated_checkpoints
from propagation.model import Array, Checkpoint, DamagedNumbers, StagedCheckpoint
from propagation.ports import Lease

BYTES_PER_COMMIT = 4 << 20
PARTS_PER_READ = 16


class Neo4jCheckpoints(Neo4jSweeper):
    """Keeps the newest checkpoints.

    They are the newest barrier, the newest checkpoint if it is no barrier, and at most one
    incomplete checkpoint.
    """

    async def save_checkpoint(self, lease: Lease, checkpoint: Checkpoint) -> None:
        staged = await self.stage_checkpoint(lease, checkpoint)
        await self._database.write(
            lambda transaction: publish_checkpoint(transaction, staged.id), lease
        )
        await self.sweep()

    async def stage_checkpoint(
        self, lease: Lease, checkpoint: Checkpoint, onto: StagedCheckpoint | None = None
    ) -> StagedCheckpoint:
        """Write a checkpoint that stays invisible until it is published.

        Args:
            onto: The staged checkpoint to which the arrays are added, and which moves to the
                sequence of `checkpoint`; None begins a new one.
        """

        async def begin(transaction: Transaction) -> int:
            if onto is not None:
                check_staged(
                    len(
                        await transaction.rows(
                            "learn/checkpoints/move_checkpoint",
                            id=onto.id,
                            sequence=checkpoint.sequence,
                        )
                    )
                )
                return onto.id
            return int(
                await transaction.value(
                    "learn/checkpoints/create_checkpoint",
                    sequence=checkpoint.sequence,
                    epoch=checkpoint.epoch,
                    barrier=checkpoint.barrier,
                )
            )

        id_ = await self._database.write(begin, lease)
        pieces: list[dict[str, Any]] = []
        for name, part, dtype, shape, data in take_pieces(checkpoint):
            pieces.append(
                {
                    "checkpoint": id_,
                    "name": name,
                    "part": part,
                    "dtype": dtype,
                    "shape": shape,
                    "data": data,
                }
            )
            if sum(len(one["data"]) for one in pieces) >= BYTES_PER_COMMIT:
                await self._database.execute("learn/checkpoints/create_pieces", pieces=pieces)
                pieces = []
        await self._database.execute("learn/checkpoints/create_pieces", pieces=pieces)
        return StagedCheckpoint(id_, checkpoint.sequence)

    async def get_newest_checkpoint(self, *, barrier: bool = False) -> Checkpoint | None:
        """Read the newest checkpoint, piece by piece.

        If another checkpoint replaces it meanwhile, the other one is read.

        Raises:
            DamagedNumbers: Pieces of the checkpoint are missing or damaged, and no other checkpoint
                has replaced it.
        """
        lacking = None
        while (
            row := await self._database.row("learn/checkpoints/newest_checkpoint", barrier=barrier)
        ) is not None:
            id_, sequence, epoch, is_barrier = row
            try:
                return Checkpoint(
                    sequence=sequence,
                    epoch=epoch,
                    barrier=is_barrier,
                    arrays=await self._read_arrays(id_),
                )
            except DamagedNumbers:
                if id_ == lacking:
                    raise
                lacking = id_
        return None

    async def _read_arrays(self, id_: int) -> dict[str, Array]:
        """Read every array of a checkpoint.

        Raises:
            DamagedNumbers: Pieces are missing or damaged.
        """
        arrays: dict[str, Array] = {}
        for name, dtype, shape in await self._database.rows(
            "learn/checkpoints/list_arrays", id=id_
        ):
            pieces: list[bytes] = []
            while rows := await self._database.rows(
                "learn/checkpoints/array_pieces",
                id=id_,
                name=name,
                first=len(pieces),
                until=len(pieces) + PARTS_PER_READ,
            ):
                pieces.extend(data for (data,) in rows)
            arrays[name] = join_pieces(name, dtype, shape, pieces)
        if not arrays:
            raise DamagedNumbers("the newest checkpoint of the numbers has lost its arrays")
        return arrays


async def publish_barrier(transaction: Transaction, barrier: StagedCheckpoint) -> None:
    """Make a barrier visible, and delete the trust that it covers.

    Raises:
        LeaseLost: Another checkpoint was begun meanwhile.
    """
    await publish_checkpoint(transaction, barrier.id)
    await transaction.execute("learn/blocks/drop_trust", through=barrier.sequence)


async def publish_checkpoint(transaction: Transaction, id_: int) -> None:
    """Make a checkpoint visible, and delete those that it replaces.

    Raises:
        LeaseLost: Another checkpoint was begun meanwhile.
    """
    found = await transaction.table("learn/checkpoints/publish_checkpoint", id=id_)
    check_staged(len(found))
    await transaction.execute(
        "learn/checkpoints/delete_checkpoints", ids=list_outdated_checkpoints(found, id_)
    )
