"""Maintenance of the vector index: finding, feeding and refilling it.

The index is fed from the outbox. It is derived: everything in it can be made again from the graph.
"""

import logging
from collections.abc import Mapping, Sequence

from propagation.model import IncompatibleSettings, IndexUnavailable, LeaseHeld, split_into_batches
from propagation.ports import (
    COLLECTIONS,
    Collection,
    Embedder,
    GraphStore,
    IndexChange,
    Point,
    VectorIndex,
)
from propagation.workflow.concurrency import Leases
from propagation.workflow.index.repair import (
    ALL_CHANGES,
    IndexRepair,
    OnProgress,
    ignore_progress,
)
from propagation.workflow.index.vector_sync import CLIENTS_A_CALL, VectorSync
from propagation.workflow.views import NumbersOwner

REINDEX_LEASE, FIND_LEASE = "reindex", "index"
MIN_AGE_MS = 5_000
"""A younger change is most likely being written by the process that committed it."""
log = logging.getLogger(__name__)


class IndexMaintenance:
    """Keeps the index equal to the graph.

    Attributes:
        repaired: How many points differed when the index was last compared.
    """

    def __init__(
        self,
        store: GraphStore,
        embedder: Embedder,
        index: VectorIndex,
        vectors: VectorSync,
        numbers: NumbersOwner,
        leases: Leases,
    ) -> None:
        self._store = store
        self._embedder = embedder
        self._index = index
        self._feed = vectors.feed
        self._vectors = vectors
        self._leases = leases
        self._repair = IndexRepair(store, embedder, index, vectors, numbers)
        self.repaired = 0

    @property
    def problem(self) -> str:
        """Why the index is not written to now; empty while it is."""
        return self._feed.problem

    async def open(self) -> None:
        """Find and repair the index, and fill the numbers view from it.

        If the index does not answer, the view's vectors are computed from texts, and `step` looks
        for the index again later.
        """
        try:
            # Another process may be filling an index which was empty.
            await self._attach_index(wait_seconds=60.0)
            await self._fill_view()
        except (IndexUnavailable, LeaseHeld) as error:
            self._feed.stop(error)
            await self._vectors.fill_view()

    def put_off(self, reason: str) -> None:
        """Stop writing until the index is made again, or found and compared."""
        self._feed.problem = reason

    async def is_due(self) -> bool:
        """Tell whether `step` has work to do.

        If the index was lost, it has once the index answers again. Otherwise the changes written
        since the last call are first dropped from the outbox.
        """
        if self._feed.problem:
            return await self._does_answer()
        await self._feed.settle()
        return bool(await self._store.get_pending_changes(MIN_AGE_MS, 1))

    async def step(self) -> int:
        """Find a lost index again, and write the outbox's changes into it.

        Returns:
            How many changes were written.
        """
        try:
            if self._feed.problem:
                await self._attach_index()
            changes = await self._store.get_pending_changes(MIN_AGE_MS, CLIENTS_A_CALL)
            await self._repair.carry_over(self._index, changes)
        except IndexUnavailable as error:
            self._feed.stop(error)
            return 0
        except LeaseHeld:  # another process repairs the index; the problem remains until then
            return 0
        return len(changes)

    async def close(self) -> None:
        """Settle the outbox, and close the index."""
        await self._feed.settle()
        await self._index.close()

    async def repair(self) -> int:
        """Repair the points whose version differs from the graph's.

        Returns:
            How many points differed, without those that the outbox explains.

        Raises:
            IndexUnavailable: The index does not answer.
        """
        return await self._repair.run(self._index, ignore_progress, look_twice=True)

    async def follow_routers(self) -> None:
        """Update the routers' points after an evolution.

        An index that does not answer gets them when it is found again.
        """
        try:
            await self._repair.run(self._index, ignore_progress, collections=[Collection.ROUTERS])
        except IndexUnavailable as error:
            self._feed.stop(error)

    async def follow_withdrawal(
        self, deleted: Mapping[Collection, Sequence[int | str]], changed: Sequence[IndexChange]
    ) -> None:
        """Update points after a retraction or an erasure.

        An index that does not answer gets them when it is found again.

        Args:
            deleted: Keys that the graph no longer has.
            changed: Changes that wait in the outbox.
        """
        if self._feed.problem:
            return
        try:
            for collection, keys in deleted.items():
                await self._index.delete(collection, keys)
            await self._repair.carry_over(self._index, changed)
        except IndexUnavailable as error:
            self._feed.stop(error)

    async def reindex(self, progress: OnProgress = ignore_progress) -> int:
        """Make the whole index again from the graph, and serve it.

        Commits that other processes make meanwhile are indexed afterwards.

        Returns:
            How many points the index has.

        Raises:
            LeaseHeld: Another process reindexes.
        """
        try:
            async with self._leases.require(REINDEX_LEASE):
                async with self._index.rebuild(
                    self._embedder.name, self._embedder.dimension
                ) as writer:
                    count = await self._repair.run(writer, progress)
                await self.repair()
        except BaseException as error:
            # The current epoch may have another embedder than this index.
            self.put_off(self._feed.problem or f"the vector index could not be rebuilt: {error}")
            raise
        self._feed.problem = ""
        return count

    async def _does_answer(self) -> bool:
        """Tell whether the index answers.

        Called before `step`, which keeps other activities out while it waits for the index.
        """
        try:
            async with self._leases.require(FIND_LEASE):
                await self._repair.is_complete()
        except IndexUnavailable as error:
            self._feed.stop(error)
            return False
        except LeaseHeld:
            return False
        except IncompatibleSettings:
            log.debug("the vector index answers, but must be rebuilt")
        return True

    async def _find(self, wait_seconds: float) -> int:
        """Find the index and repair it; return how many points differed.

        An index that is new, or has lost a collection, is made again, and served only when it is
        complete.
        """
        async with self._leases.require(FIND_LEASE, wait_seconds):
            if not await self._repair.is_complete():
                return await self.reindex()
            if self._feed.problem:
                return await self.repair()
        return await self.repair()

    async def _attach_index(self, wait_seconds: float = 0.0) -> None:
        """Find and repair the index.

        The changes of rounds are then written again, because a comparison does not show them. An
        index whose embedder is not the epoch's is made again: a crash kept it from following a
        bootstrap.

        Raises:
            IndexUnavailable: The index does not answer, or belongs to an epoch that this process
                has not followed yet.
            LeaseHeld: Another process finds or makes the index.
        """
        waiting = await self._store.get_pending_changes(0, ALL_CHANGES)
        try:
            self.repaired = await self._find(wait_seconds)
        except IncompatibleSettings as error:
            epoch = await self._store.get_current_epoch()
            if epoch is not None and epoch.embedder != self._embedder.name:
                raise IndexUnavailable(
                    f"the vector index belongs to epoch {epoch.number}, which this process has not"
                    " followed yet"
                ) from error
            log.info("the vector index is of an earlier embedder, and is made again")
            self.repaired = await self.reindex()
        await self._store.drop_changes([change for change in waiting if not change.round])
        of_rounds = [change for change in waiting if change.round]
        for batch in split_into_batches(of_rounds, CLIENTS_A_CALL):
            await self._repair.carry_over(self._index, batch)
        if self.repaired:
            log.info(
                "%d points of the vector index differed from the graph and were repaired",
                self.repaired,
            )
        self._feed.problem = ""

    async def _fill_view(self) -> None:
        """Copy every profile vector of the index into the view."""
        for collection in COLLECTIONS.values():
            versions = await self._index.get_versions(collection)
            keys = sorted(versions, key=int)
            for batch in split_into_batches(keys, CLIENTS_A_CALL):
                found = await self._index.get_vectors(collection, batch)
                await self._vectors.update_view(
                    [
                        Point(key=key, version=versions[key], vector=vector)
                        for key, vector in found.items()
                    ]
                )
