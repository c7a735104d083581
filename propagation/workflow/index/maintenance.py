"""The vector index kept equal to the graph: found and mended by version, made again, and fed from
the outbox. It is derived: everything in it can be made again from the graph."""

import logging
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from itertools import groupby

import numpy as np

from propagation.model.errors import IncompatibleSettings, IndexUnavailable, LeaseHeld
from propagation.ports.embedder import Embedder
from propagation.ports.graph.graph_store import GraphStore
from propagation.ports.graph.outbox import IndexChange
from propagation.ports.vector_index import Collection, Point, VectorIndex
from propagation.workflow.concurrency.leases import Leases
from propagation.workflow.index.outbox_feed import OutboxFeed
from propagation.workflow.index.repair import IndexRepair
from propagation.workflow.index.vector_sync import CLIENTS_A_CALL, COLLECTIONS, VectorSync
from propagation.workflow.views.numbers_owner import NumbersOwner
from propagation.workflow.views.numbers_view import NumbersView

LEASE, FINDING = "reindex", "index"
OTHERS_SECONDS = 60.0
"""How long a start waits for another process that fills an index which was empty."""
AGE_MS = 5_000
"""What is younger is most likely being written by whoever committed it."""
WAITED = 1_000_000
OnProgress = Callable[[int, int], None]
log = logging.getLogger(__name__)


def no_progress(done: int, total: int) -> None:
    """For callers that show nothing."""


class IndexMaintenance:
    """`mended`: how many points differed when the index was last compared."""

    def __init__(
        self,
        store: GraphStore,
        embedder: Embedder,
        index: VectorIndex,
        feed: OutboxFeed,
        vectors: VectorSync,
        numbers: NumbersOwner,
        leases: Leases,
    ) -> None:
        self._store = store
        self._embedder = embedder
        self._index = index
        self._feed = feed
        self._vectors = vectors
        self._numbers = numbers
        self._leases = leases
        self._repair = IndexRepair(store, vectors, numbers)
        self.mended = 0

    @property
    def problem(self) -> str:
        """Why the index is not written to now; empty while it is."""
        return self._feed.problem

    async def open(self) -> None:
        """At start: the index as the graph has it, and the view's profiles. One that does not
        answer is found again by `step`; the view is then filled from the graph."""
        try:
            await self._join(OTHERS_SECONDS)
            await self._fill_view()
        except (IndexUnavailable, LeaseHeld) as error:
            self._feed.failed(error)
            await self._fill_view_from_texts()

    def put_off(self, why: str) -> None:
        """Nothing is written to the index until it was made again, or found and compared."""
        self._feed.problem = why

    async def due(self) -> bool:
        """Whether `step` has something to do; an index that does not answer gives it nothing. Takes
        out of the outbox what the index has."""
        if self._feed.problem:
            return await self._answers()
        await self._feed.settle()
        return bool(await self._store.pending_changes(AGE_MS, 1))

    async def step(self) -> int:
        """Carry over what waits in the outbox, after finding an index again that was lost; how many
        changes that were."""
        try:
            if self._feed.problem:
                await self._join()
            changes = await self._store.pending_changes(AGE_MS, CLIENTS_A_CALL)
            await self._carry(changes)
        except IndexUnavailable as error:
            self._feed.failed(error)
            return 0
        except LeaseHeld:  # another process mends it: what was wrong is wrong until it has
            return 0
        return len(changes)

    async def close(self) -> None:
        await self._feed.settle()
        await self._index.close()

    async def mend(self) -> int:
        """Find by version what differs from the graph, and make it good; how many points that were.
        Raises IndexUnavailable."""
        return await self._repair.mend(self._index, no_progress)

    async def follow_routers(self) -> int:
        """After an evolution: the routers' points as the graph has them now; how many changed. An
        index that does not answer has them when it is found again."""
        try:
            return await self._repair.routers(self._index)
        except IndexUnavailable as error:
            self._feed.failed(error)
            return 0

    async def follow_withdrawal(
        self, gone: Mapping[Collection, Sequence[int | str]], changed: Sequence[IndexChange]
    ) -> None:
        """After a retraction or an erasure: points of what is no more, and those that the graph has
        otherwise now (`changed`, which wait in the outbox). An index that does not answer has them
        when it is found again."""
        if self._feed.problem:
            return
        try:
            for collection, keys in gone.items():
                await self._index.delete(collection, keys)
            await self._carry(changed)
        except IndexUnavailable as error:
            self._feed.failed(error)

    async def reindex(self, progress: OnProgress = no_progress) -> int:
        """Make all of it again from the graph, beside the index that is served, and let it take its
        place; how many points it has. What others committed meanwhile is made good after that.
        Raises LeaseHeld while another process does this."""
        try:
            async with self._leases.hold(LEASE) as lease:
                if lease is None:
                    raise LeaseHeld(LEASE)
                successor = await self._index.create_successor(
                    self._embedder.name, self._embedder.dimension
                )
                count = await self._repair.mend(successor, progress)
                await successor.publish()
                await self.mend()
        except (
            BaseException
        ) as error:  # an epoch may be open whose embedder this index does not have
            self._feed.problem = (
                self._feed.problem or f"the vector index was not made again: {error}"
            )
            raise
        self._feed.problem = ""
        return count

    async def _answers(self) -> bool:
        """Asked before anybody has to stand still for `step`: a server that is frozen takes its
        time not to answer."""
        try:
            async with self._finding():
                await self._index.ensure_collections(self._embedder.name, self._embedder.dimension)
        except IndexUnavailable as error:
            self._feed.failed(error)
            return False
        except LeaseHeld:
            return False
        except IncompatibleSettings:
            """It answers, and has to be made again."""
        return True

    @asynccontextmanager
    async def _finding(self, seconds: float = 0.0) -> AsyncIterator[None]:
        """Nobody else looks for the index, who might make it at the same time. Raises LeaseHeld
        after so many seconds."""
        async with self._leases.hold(FINDING, seconds) as lease:
            if lease is None:
                raise LeaseHeld(FINDING)
            yield

    async def _found(self, seconds: float) -> int:
        """Find the index, and make good what differs; how many points that were. One that is made
        now, or was lost, is filled before another process that looks for it finds it."""
        async with self._finding(seconds):
            made = await self._index.ensure_collections(
                self._embedder.name, self._embedder.dimension
            )
            if made or self._feed.problem:
                return await self.mend()
        return await self.mend()

    async def _join(self, seconds: float = 0.0) -> None:
        """Find the index, and make good what differs. One of another embedder than the epoch's is
        one that a crash kept from following its bootstrap. Changes that waited before are in it
        then; those that no version tells are carried over."""
        waited = await self._store.pending_changes(0, WAITED)
        try:
            self.mended = await self._found(seconds)
        except IncompatibleSettings as error:
            await self._check_epoch()
            log.warning("%s: making it again", error)
            self.mended = await self.reindex()
        await self._store.drop_changes([change for change in waited if not change.round])
        unversioned = [change for change in waited if change.round]
        for start in range(0, len(unversioned), CLIENTS_A_CALL):
            await self._carry(unversioned[start : start + CLIENTS_A_CALL])
        if self.mended:
            log.info(
                "%d points of the vector index differed from the graph and were made good",
                self.mended,
            )
        self._feed.problem = ""

    async def _check_epoch(self) -> None:
        """A process that has not followed a new epoch yet leaves that epoch's index alone."""
        epoch = await self._store.current_epoch()
        if epoch is not None and epoch.embedder != self._embedder.name:
            raise IndexUnavailable(
                f"the vector index belongs to epoch {epoch.number}, which this process has not followed yet"
            )

    async def _carry(self, changes: Sequence[IndexChange]) -> None:
        ordered = sorted(changes, key=lambda change: change.collection)
        for collection, found in groupby(ordered, key=lambda change: change.collection):
            keys = list(dict.fromkeys(change.key for change in found))
            points = await self._made(collection, keys)
            await self._index.upsert(collection, points)
            await self._index.delete(
                collection, [key for key in keys if key not in {point.key for point in points}]
            )
        await self._store.drop_changes(changes)

    async def _made(self, collection: Collection, keys: Sequence[int | str]) -> list[Point]:
        """Points as the graph has them now; of what it no longer has, none."""
        if collection == Collection.ATTRIBUTES:
            known = await self._store.get_attributes([str(key) for key in keys])
            return await self._vectors.points_of_attributes(
                [name for name, found in known.items() if found.canonical is None]
            )
        if collection == Collection.ROUTERS:
            return await self._repair.points_of_routers([int(key) for key in keys])
        texts = await self._store.load_texts([int(key) for key in keys])
        points = await self._vectors.points_of_texts(
            text for text in texts.values() if text.profile.version
        )
        await self._vectors.update_view(points)
        return points

    async def _fill_view(self) -> None:
        """Every profile vector that the index holds."""
        for collection in COLLECTIONS.values():
            keys = sorted(await self._index.versions(collection), key=int)
            for start in range(0, len(keys), CLIENTS_A_CALL):
                found = await self._index.vectors(collection, keys[start : start + CLIENTS_A_CALL])
                if found:
                    await self._numbers.run(
                        NumbersView.set_profiles,
                        [int(key) for key in found],
                        np.stack(list(found.values())),
                    )

    async def _fill_view_from_texts(self) -> None:
        refs = sorted(await self._store.text_versions())
        for start in range(0, len(refs), CLIENTS_A_CALL):
            texts = await self._store.load_texts(refs[start : start + CLIENTS_A_CALL])
            await self._vectors.update_view(await self._vectors.points_of_texts(texts.values()))
