"""Stores blocks of learned columns, checkpoints and epochs."""

from collections.abc import Mapping, Sequence

from propagation.adapters.neo4j.connection import Transaction, check_fence, execute_fenced
from propagation.adapters.neo4j.learn.checkpoints import Neo4jCheckpoints, publish_checkpoint
from propagation.adapters.neo4j.learn.learned_blocks import block_of, properties_of
from propagation.adapters.neo4j.record.log import append_entry, lock_log, set_log_end
from propagation.adapters.shared.learned_blocks import taste_written_by
from propagation.model import Checkpoint, EntryKind, Epoch, LearnedBlock, LeaseLost
from propagation.ports import Lease

EPOCH = ("number", "sequence", "session_k", "taste_k", "tau", "embedder", "era")


class Neo4jLearn(Neo4jCheckpoints):
    """Blocks of learned columns, checkpoints, epochs."""

    async def commit_learned(self, lease: Lease, block: LearnedBlock) -> None:
        properties = properties_of(block)

        async def work(transaction: Transaction) -> None:
            await check_fence(transaction, lease)
            through = await transaction.value("learn/blocks/learned_through") or 0
            if block.after != through:
                raise LeaseLost(
                    f"this block starts after sequence {block.after}, but the store has"
                    f" learned through {through}"
                )
            await transaction.execute(
                "learn/blocks/create_block",
                trust=block.trust.tobytes(),
                combiner=block.combiner.tobytes(),
                **properties,
            )

        await self._database.write(work)

    async def read_learned(self, after: int, limit: int) -> Sequence[LearnedBlock]:
        return [
            block_of(*row)
            for row in await self._database.rows(
                "learn/blocks/list_blocks", after=after, limit=limit
            )
        ]

    async def taste_written(
        self, sequences: Sequence[int]
    ) -> Mapping[int, Sequence[tuple[int, float]]]:
        found: dict[int, Sequence[tuple[int, float]]] = {}
        block: LearnedBlock | None = None
        for sequence in sorted(set(sequences)):
            if block is None or sequence > block.through:
                row = await self._database.row("learn/blocks/block_at", sequence=sequence)
                if row is None:
                    break
                block = block_of(*row)
            if written := taste_written_by(block, sequence):
                found[sequence] = written
        return found

    async def learned_through(self) -> int:
        return await self._database.value("learn/blocks/learned_through") or 0

    async def replace_learned(
        self, lease: Lease, blocks: Sequence[LearnedBlock], *, first: bool
    ) -> None:
        rows = [properties_of(block) for block in blocks]

        async def work(transaction: Transaction) -> None:
            await check_fence(transaction, lease)
            if first:
                await transaction.execute("learn/blocks/discard_staged_blocks")
            await transaction.execute("learn/blocks/stage_blocks", rows=rows)

        await self._database.write(work)

    async def open_epoch(self, lease: Lease, epoch: Epoch, start: Checkpoint) -> int:
        id_ = (await self.stage_checkpoint(lease, start)).id

        async def work(transaction: Transaction) -> int:
            await check_fence(transaction, lease)
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

        sequence = await self._database.write(work)
        await self.sweep_checkpoints()
        return sequence

    async def current_epoch(self) -> Epoch | None:
        epochs = await self.epochs()
        return epochs[-1] if epochs else None

    async def fix_tau(self, lease: Lease, number: int, tau: float) -> None:
        await execute_fenced(self._database, lease, "learn/epochs/set_tau", number=number, tau=tau)

    async def epochs(self) -> Sequence[Epoch]:
        return [
            Epoch(**dict(zip(EPOCH, row, strict=True)))
            for row in await self._database.rows("learn/epochs/list_epochs")
        ]


async def create_epoch(transaction: Transaction, epoch: Epoch, sequence: int) -> None:
    """Open an epoch at a sequence."""
    await transaction.execute(
        "learn/epochs/create_epoch",
        **{**{name: getattr(epoch, name) for name in EPOCH}, "sequence": sequence},
    )
