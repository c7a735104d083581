"""The learn commit: all numbers, one writer at a time, in sequence order (DESIGN, State, 2)."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from propagation.model.interactions.learned_block import Checkpoint, LearnedBlock, StagedCheckpoint
from propagation.model.routers.epoch import Epoch
from propagation.ports.graph.leases import Lease


class LearnStore(Protocol):
    async def commit_learned(self, lease: Lease, block: LearnedBlock) -> None:
        """The block, and `learned_through` moved to its `through`. Raises LeaseLost when the token
        is not the newest or when another block already went past this one's first log entry;
        nothing is changed then."""

    async def read_learned(self, after: int, limit: int) -> Sequence[LearnedBlock]:
        """At most `limit` blocks with through > after, in order. Increments of trust are kept until
        a checkpoint covers them; a block older than that comes with trust [B,2,0]."""

    async def taste_written(
        self, sequences: Sequence[int]
    ) -> Mapping[int, Sequence[tuple[int, float]]]:
        """What each interaction wrote by rule 5 to the taste bank: (router, weight), largest first,
        then by router; those that wrote nothing (repeats) or are no interaction are left out."""

    async def learned_through(self) -> int: ...

    async def save_checkpoint(self, lease: Lease, checkpoint: Checkpoint) -> None:
        """Visible when complete, and older ones are dropped, but the newest barrier. May be many
        commits."""

    async def stage_checkpoint(
        self, lease: Lease, checkpoint: Checkpoint, onto: StagedCheckpoint | None = None
    ) -> StagedCheckpoint:
        """Written, some commits long, and invisible until the commit that it is handed to. There is
        one at a time: the next discards it, unless it goes `onto` it: arrays of other names, and
        from then on this one's sequence. Its arrays are taken out of it as they are written. Raises
        LeaseLost."""

    async def newest_checkpoint(self, *, barrier: bool = False) -> Checkpoint | None:
        """The newest complete one; with `barrier`, the newest barrier. Its arrays are the caller's
        own: they may be taken out one by one, to hold no more than one copy."""

    async def open_epoch(self, lease: Lease, epoch: Epoch, start: Checkpoint) -> int:
        """A new router set goes live: the epoch, its log entry (whose sequence is returned) and its
        barrier, in one publication. Blocks learned before on the old start are replaced by what was
        re-learned (see workflow)."""

    async def replace_learned(
        self, lease: Lease, blocks: Sequence[LearnedBlock], *, first: bool
    ) -> None:
        """Stage blocks that were learned again from the log, invisible until `open_epoch`; `first`
        discards older stages."""

    async def current_epoch(self) -> Epoch | None: ...

    async def fix_tau(self, lease: Lease, number: int, tau: float) -> None:
        """Eq. 4's threshold of an epoch, from now on. Raises LeaseLost when the token is not the
        newest; nothing is changed then."""

    async def epochs(self) -> Sequence[Epoch]:
        """Every epoch, oldest first."""
