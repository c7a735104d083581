"""The learner, which turns the log's interactions into numbers, in sequence order.

One process learns, the holder of the lease; the others follow its blocks (docs/design.md, "State").
"""

import asyncio
import logging
import math
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass

from propagation.model import (
    Checkpoint,
    DamagedNumbers,
    EntryKind,
    LeaseLost,
    LogEntry,
    LogSlice,
)
from propagation.numbers import INTERACTIONS
from propagation.ports import Embedder, GraphStore, Lease
from propagation.workflow.concurrency import LEARN_LEASE, WAIT_SECONDS, Leases
from propagation.workflow.data_settings import OpenData
from propagation.workflow.learn.checkpoints import restore_view, take_checkpoint
from propagation.workflow.learn.item_embedding import apply_clients
from propagation.workflow.learn.learned_blocks import can_follow, read_blocks
from propagation.workflow.views import Catalogue, NumbersOwner, NumbersView

log = logging.getLogger(__name__)
POLL_SECONDS = 0.5
BLOCK_LEAST, BLOCK_MOST = 256, 2_048
CHECKPOINT_EVERY = 50_000
CHECKPOINT_AT_CLOSE = 5_000
# Entries that come with a barrier: numbers that do not follow from the blocks before it.
BARRIERS = (
    EntryKind.BOOTSTRAP,
    EntryKind.EVOLUTION,
    EntryKind.RETRACTION,
    EntryKind.ERASURE,
    EntryKind.FACTORS,
)


@dataclass
class Learner:
    """Learns the log step by step, or follows the process that learns.

    Attributes:
        listeners: Called with the entries of the log that the numbers cover next; an entry may
            come twice.
    """

    store: GraphStore
    numbers: NumbersOwner
    embedder: Embedder
    leases: Leases
    data: OpenData
    catalogue: Catalogue | None = None
    listeners: Sequence[Callable[[Sequence[LogEntry]], None]] = ()
    _lease: Lease | None = None
    _block: int = BLOCK_LEAST
    _ahead: bool = False
    _behind: bool = False
    _checkpointed: int = 0
    _saving: asyncio.Task[None] | None = None
    _requested: bool = False
    _polled: float = -math.inf
    _staging: bool = False
    _last_barrier: int = 0

    async def open(self) -> None:
        """Bring the view to the end of the stored blocks.

        If the embedder did not answer, a second call goes on where the first one stopped.
        """
        await (self.catch_up() if self._behind else self.reload())

    async def close(self) -> None:
        """Finish a running checkpoint, save one if due, and release the lease.

        A checkpoint is due if CHECKPOINT_AT_CLOSE interactions were learned since the last one.
        """
        await self.wait_for_checkpoint()
        if self._lease is None:
            return
        try:
            if not self._ahead and self._count_since_checkpoint() >= CHECKPOINT_AT_CLOSE:
                with suppress(LeaseLost):  # the process that took it over saves one
                    await self.store.save_checkpoint(self._lease, await self._take_snapshot())
        finally:
            await self.store.release_lease(self._lease)

    async def synchronize(self) -> None:
        """Bring the view to the end of the stored blocks.

        The view also takes over every barrier of other processes, even one after which nothing was
        learned yet. The caller keeps this process from learning.
        """
        if self._ahead:
            await self.reload()
        await self.catch_up()
        after = max(self._last_barrier, self.numbers.view.applied_through)
        if self._is_overtaken(
            await self.store.read_entries(after, await self.store.get_recorded_through())
        ):
            await self.reload()

    async def wait_for_checkpoint(self) -> None:
        """Wait until a checkpoint that is being written is stored or failed."""
        if self._saving is not None:
            await asyncio.gather(self._saving, return_exceptions=True)

    async def reload(self) -> None:
        """Load the view from the newest checkpoint and later blocks.

        An epoch that is new to this process is followed first, because its embedder embeds the
        texts that come after it.
        """
        self._ahead = True  # if this fails or is cancelled, the next step reloads again
        # The checkpoint, which is read afterwards, includes every barrier up to here.
        last_barrier = await self.store.get_recorded_through()
        checkpoint = await self.store.get_newest_checkpoint()
        if checkpoint is not None and checkpoint.epoch != self.numbers.view.epoch:
            await self.data.follow_epoch(checkpoint.epoch)
        fresh = (
            self.data.create_first_view()
            if checkpoint is None
            else await asyncio.to_thread(restore_view, checkpoint, self.numbers.view.seed)
        )
        if fresh.applied_through > await self.store.get_learned_through():
            raise DamagedNumbers(
                f"learned blocks are missing: they end before sequence {fresh.applied_through}"
            )
        self._checkpointed = int(fresh.state.clock[INTERACTIONS])
        await self.numbers.run(NumbersView.adopt, fresh)
        self._last_barrier = last_barrier
        self._ahead, self._behind = False, True
        await self._follow_on()

    async def catch_up(self) -> None:
        """Apply all committed blocks, or reload if blocks alone do not suffice."""
        if not await self._follow_on():
            await self.reload()

    async def _follow_on(self) -> bool:
        """Apply all stored blocks that the view does not reflect yet.

        Returns:
            Whether the view reflects the newest block; if not, the view must be loaded again.

        Raises:
            DamagedNumbers: A block is damaged, or blocks are missing that no checkpoint covers.
        """
        view = self.numbers.view
        async for part, blocks in read_blocks(self.store, view.applied_through):
            if not can_follow(blocks[0][1], view.epoch, view.applied_through):
                await self._check_gap(view)
                return False
            if self._is_overtaken(part.entries):
                return False
            await self._apply_clients(part)
            await self.numbers.run(NumbersView.follow_all, blocks)
        self._behind = False
        return True

    async def _check_gap(self, view: NumbersView) -> None:
        """Raise DamagedNumbers unless a checkpoint covers what the blocks lack."""
        newest = await self.store.get_newest_checkpoint()
        if newest is None or (
            newest.sequence <= view.applied_through and newest.epoch == view.epoch
        ):
            raise DamagedNumbers(
                f"learned numbers after sequence {view.applied_through} are incomplete"
            )

    async def step(self) -> int:
        """Learn and commit the next entries of the log.

        A step that fails or is cancelled may leave the view ahead of the store; the next step then
        loads the view again.

        Returns:
            How many entries were covered: 0 if another process learns, 1 if the view was loaded
            again instead.

        Raises:
            LeaseLost: Another process took the lease over.
        """
        if self._saving is not None and self._saving.done():
            saving, self._saving = self._saving, None
            saving.result()  # raises its failure once; the next one is written when due
        if self._ahead:
            await self.reload()
        token = self._lease.token if self._lease is not None else None
        self._lease = await self._renew_lease()
        if self._lease is None:
            await self.catch_up()
            return 0
        self._behind |= self._lease.token != token
        # An embedder may take longer than the lease lasts.
        async with self.leases.keep_alive(self._lease, shared=True):
            if self._behind:
                await self.synchronize()
            return await self._learn(self._lease)

    async def _learn(self, lease: Lease) -> int:
        after = self.numbers.view.applied_through
        part = await self.store.read_log(after, self._block)
        if part.through == after:
            return 0
        if self._is_overtaken(part.entries):
            await self.reload()
            return 1
        # Before the view is ahead: if the embedder fails, the same part is applied again.
        await self._apply_clients(part)
        self._ahead = True
        block = await self.numbers.run(NumbersView.learn, part.interactions, part.through)
        await self.store.commit_learned(lease, block)
        self._ahead = False
        covered = part.through - after
        self._block = min(self._block * 2, BLOCK_MOST) if covered == self._block else BLOCK_LEAST
        if (
            self._saving is None
            and not self._staging
            and self._count_since_checkpoint() >= CHECKPOINT_EVERY
        ):
            self._saving = asyncio.create_task(
                self.store.save_checkpoint(lease, await self._take_snapshot())
            )
        return covered

    async def _renew_lease(self) -> Lease | None:
        """Renew the lease, or give it to a waiting process.

        Returns:
            The lease; None if another process holds it or waits for it.
        """
        if (
            time.monotonic() - self._polled >= POLL_SECONDS
            and self._saving is None
            and not self._staging
        ):
            self._polled = time.monotonic()
            self._requested = await self.leases.is_requested_elsewhere(LEARN_LEASE)
            if self._requested and self._lease is not None:
                await self.store.release_lease(self._lease)
        return None if self._requested else await self.leases.acquire(LEARN_LEASE)

    def _is_overtaken(self, entries: Sequence[LogEntry]) -> bool:
        """Return whether another process left a barrier that is not loaded."""
        return any(
            entry.kind in BARRIERS and entry.sequence > self._last_barrier for entry in entries
        )

    @asynccontextmanager
    async def hold_lease(self, *, synchronize: bool = True) -> AsyncIterator[Lease]:
        """Hold the learner's lease.

        The learner keeps using the lease, so it is not released. No checkpoint is written
        meanwhile: the caller stages one, and the store has one at a time.

        Args:
            synchronize: Bring the view to the end of the stored blocks first.

        Raises:
            LeaseLost: Another process withdrew something or evolved for longer than WAIT_SECONDS.
        """
        await self.wait_for_checkpoint()
        if (
            self._saving is not None
            and not self._saving.cancelled()
            and (failure := self._saving.exception())
        ):
            log.warning("a checkpoint was not saved: %s", failure)
        self._saving = None
        lease = await self.leases.wait_for(LEARN_LEASE)
        if lease is None:
            raise LeaseLost(
                "another process withdraws something or evolves the routers, and did not finish"
                f" within {WAIT_SECONDS:.0f} s; try again"
            )
        self._requested = False
        async with self.leases.keep_alive(lease, shared=True):
            if synchronize:
                await self.synchronize()
            # Only now: if synchronizing failed, the next step sees a new lease and repeats it.
            self._lease = lease
            self._staging = True
            try:
                yield lease
            finally:
                self._staging = False

    def mark_ahead(self) -> None:
        """Make the next step load the view again, unless `mark_stored` follows."""
        self._ahead = True

    def mark_stored(self, sequence: int) -> None:
        """Note that the store has the view's numbers.

        Args:
            sequence: The view reflects every barrier up to it.
        """
        self._ahead, self._last_barrier = False, sequence
        self._checkpointed = int(self.numbers.view.state.clock[INTERACTIONS])

    async def _take_snapshot(self) -> Checkpoint:
        self._checkpointed = int(self.numbers.view.state.clock[INTERACTIONS])
        return await self.numbers.run(take_checkpoint, False)

    def _count_since_checkpoint(self) -> int:
        return int(self.numbers.view.state.clock[INTERACTIONS]) - self._checkpointed

    async def _apply_clients(self, part: LogSlice) -> None:
        await apply_clients(self.store, self.numbers, self.embedder, part, self.catalogue)
        for listener in self.listeners:
            listener(part.entries)
