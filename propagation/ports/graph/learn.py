"""The learn commit: all numbers, in sequence order.

There is one writer at a time.
"""

from collections.abc import Mapping, Sequence
from typing import Protocol

from propagation.model import Checkpoint, Epoch, LearnedBlock, StagedCheckpoint
from propagation.ports.graph.leases import Lease


class LearnStore(Protocol):
    """Learned numbers: blocks of deltas, checkpoints and epochs."""

    async def commit_learned(self, lease: Lease, block: LearnedBlock) -> None:
        """Store a block, and move `learned_through` to its `through`, in one commit.

        Raises:
            LeaseLost: The token is not the newest, or another block already covers the first log
                entry of this one; nothing was changed.
        """

    async def read_learned(self, after: int, limit: int) -> Sequence[LearnedBlock]:
        """Return at most `limit` blocks with through > after, in order.

        A block that a checkpoint covers may have trust [B,2,0], because its increments are dropped.

        Raises:
            DamagedNumbers: One of the blocks is damaged.
        """

    async def get_taste_written(
        self, sequences: Sequence[int]
    ) -> Mapping[int, Sequence[tuple[int, float]]]:
        """Return the weights that interactions wrote to the taste bank.

        Returns:
            By sequence, (router, weight) pairs, the largest weight first, then by router.
            Sequences that wrote nothing (repeats) or are no interactions are left out.

        Source: docs/numbers.md, rule 5.
        """

    async def get_learned_through(self) -> int:
        """Return the sequence through which the log is learned; 0 at first."""

    async def save_checkpoint(self, lease: Lease, checkpoint: Checkpoint) -> None:
        """Store a checkpoint in many commits, visible once it is complete.

        Older checkpoints are dropped, except the newest barrier.

        Raises:
            LeaseLost: The token is not the newest.
        """

    async def stage_checkpoint(
        self, lease: Lease, checkpoint: Checkpoint, onto: StagedCheckpoint | None = None
    ) -> StagedCheckpoint:
        """Write a checkpoint that stays invisible until a commit publishes it.

        There is one staged checkpoint at a time; staging another discards it. To save memory, the
        arrays are taken out of `checkpoint` as they are written.

        Args:
            onto: Add the arrays to this staged checkpoint instead, under names that it does not
                have yet. Its sequence becomes that of `checkpoint`.

        Raises:
            LeaseLost: The token is not the newest.
        """

    async def get_newest_checkpoint(self, *, barrier: bool = False) -> Checkpoint | None:
        """Return the newest complete checkpoint; None if there is none.

        The caller owns its arrays, and may take them out one by one to save memory.

        Args:
            barrier: Return the newest barrier instead; None if there is none.
        """

    async def open_epoch(self, lease: Lease, epoch: Epoch, start: Checkpoint) -> int:
        """Publish a new router set.

        The epoch, its log entry and its barrier are stored in one commit.

        The staged blocks (see `replace_learned`) replace all blocks that were learned before.

        Args:
            start: The barrier that the epoch begins with.

        Returns:
            The sequence of the log entry.
        """

    async def replace_learned(
        self, lease: Lease, blocks: Sequence[LearnedBlock], *, first: bool
    ) -> None:
        """Stage blocks that were learned again from the log, invisible until `open_epoch`.

        Args:
            first: Discard blocks that were staged before.
        """

    async def drop_learned(self, lease: Lease, after: int) -> None:
        """Drop blocks and checkpoints after a sequence, to be learned again.

        Raises:
            LeaseLost: The token is not the newest; nothing was changed.
        """

    async def get_current_epoch(self) -> Epoch | None:
        """Return the newest epoch; None before the first bootstrap."""
        epochs = await self.get_epochs()
        return epochs[-1] if epochs else None

    async def fix_tau(self, lease: Lease, number: int, tau: float) -> None:
        """Store the threshold of an epoch (eq. 4).

        Raises:
            LeaseLost: The token is not the newest; nothing was changed.
        """

    async def get_epochs(self) -> Sequence[Epoch]:
        """Return all epochs, oldest first."""
