"""Repair of the vector index.

Points that differ from the graph are made again, or deleted.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from propagation.model import RouterVersion, kind_of
from propagation.ports import COLLECTIONS, Collection, GraphStore, IndexChange, IndexWriter, Point
from propagation.workflow.index.vector_sync import ATTRIBUTE_VERSION, CLIENTS_A_CALL, VectorSync
from propagation.workflow.views import NumbersOwner

UNWRITTEN = 0
SECOND_LOOK_SECONDS = 1.0
ALL_CHANGES = 1_000_000
OnProgress = Callable[[int, int], None]
Refresh = Callable[[], Awaitable[object]]
Key = int | str


def no_progress(done: int, total: int) -> None:
    """Ignore progress."""


@dataclass(frozen=True)
class Difference:
    """How one collection of an index differs from the graph.

    Attributes:
        stale: Points to make again.
        count: How many points differ, without those that the outbox will mend.
    """

    collection: Collection
    stale: Sequence[Key]
    count: int


@dataclass
class IndexRepair:
    """Compares an index with the graph.

    The index is read before the graph: what it then has was committed before, or is about to be.
    """

    store: GraphStore
    vectors: VectorSync
    numbers: NumbersOwner

    async def run(
        self,
        writer: IndexWriter,
        progress: OnProgress,
        refresh: Refresh | None = None,
        collections: Iterable[Collection] = Collection,
    ) -> int:
        """Make points again, or delete them, until the index equals the graph.

        Args:
            progress: Gets how many points are done, and how many there are to do.
            refresh: Makes the writer see what other processes wrote meanwhile. If given, points
                that differ are looked at twice: another process may be about to write them, or to
                commit what they show.
            collections: Those to compare.

        Returns:
            How many points differed.

        Raises:
            IndexUnavailable: The index does not answer.
        """
        differences = await asyncio.gather(
            *(self._delete_ahead(writer, one, refresh) for one in collections)
        )
        done, total = 0, sum(len(one.stale) for one in differences)
        for one in differences:
            for start in range(0, len(one.stale), CLIENTS_A_CALL):
                keys = one.stale[start : start + CLIENTS_A_CALL]
                await writer.upsert(
                    one.collection, await self._current_points(one.collection, keys)
                )
                done += len(keys)
                progress(done, total)
        return sum(one.count for one in differences)

    async def _delete_ahead(
        self, writer: IndexWriter, collection: Collection, refresh: Refresh | None
    ) -> Difference:
        """Compare a collection by version, and delete points that the graph does not have.

        Look again at what differs. What a process commits waits in the outbox until it is written:
        a point that is behind without waiting there would stay so. Cold start indexes its texts a
        moment before it commits them. An index never goes back to an older version by itself.
        """
        indexed = await writer.versions(collection)
        stored = await self._stored_versions(collection)
        behind = _later(stored, indexed)
        ahead = _later(indexed, stored)
        waiting: set[Key] = set()
        if refresh is not None and (behind or ahead):
            await asyncio.sleep(SECOND_LOOK_SECONDS)
            changes = await self.store.pending_changes(0, ALL_CHANGES)
            waiting = {change.key for change in changes if change.collection == collection}
            await refresh()
            behind = _later(behind, await writer.versions(collection))
            stored = await self._stored_versions(collection)
            ahead = _later(ahead, stored)
        if ahead:
            await writer.delete(collection, list(ahead))
        stale = [*behind, *(key for key in ahead if key in stored)]
        return Difference(collection, stale, len(behind.keys() - waiting) + len(ahead))

    async def _stored_versions(self, collection: Collection) -> dict[Key, int]:
        """Return the version of each point that the graph asks for.

        A router without a profile yet stands at its centre, as version 0; a retired one has no
        point.
        """
        if collection == Collection.ATTRIBUTES:
            return {
                attribute.name: ATTRIBUTE_VERSION
                for attribute in await self.store.all_attributes()
                if attribute.canonical is None
            }
        if collection == Collection.ROUTERS:
            routers = self.vectors.routers
            written = await self._current_versions(routers)
            versions = {router: version.version for router, version in written.items()}
            return {router: versions.get(router, UNWRITTEN) for router in routers}
        return {
            ref: version
            for ref, version in (await self.store.text_versions()).items()
            if COLLECTIONS[kind_of(ref)] == collection
        }

    async def carry_over(self, writer: IndexWriter, changes: Sequence[IndexChange]) -> None:
        """Write the points of changes in the outbox; drop the changes.

        Points are written as the graph has them now.
        """
        ordered = sorted(changes, key=lambda change: change.collection)
        for collection, group in groupby(ordered, key=lambda change: change.collection):
            keys = list(dict.fromkeys(change.key for change in group))
            points = await self._current_points(collection, keys)
            written = {point.key for point in points}
            await writer.upsert(collection, points)
            await writer.delete(collection, [key for key in keys if key not in written])
        await self.store.drop_changes(changes)

    async def _current_points(
        self, collection: Collection, keys: Sequence[int | str]
    ) -> list[Point]:
        if collection == Collection.ATTRIBUTES:
            known = await self.store.get_attributes([str(key) for key in keys])
            return await self.vectors.points_of_attributes(
                [name for name, attribute in known.items() if attribute.canonical is None]
            )
        if collection == Collection.ROUTERS:
            return await self._points_of_routers([int(key) for key in keys])
        texts = await self.store.load_texts([int(key) for key in keys])
        points = await self.vectors.points_of_texts(
            text for text in texts.values() if text.profile.version
        )
        await self.vectors.update_view(points)
        return points

    async def _points_of_routers(self, routers: Sequence[int]) -> list[Point]:
        """Make the points of those routers that exist.

        They are made as the graph has them now.
        """
        existing = sorted(set(self.vectors.routers).intersection(routers))
        versions = await self._current_versions(existing)
        centres = self.numbers.view.state.taste.centres
        unwritten = [
            Point(key=router, version=UNWRITTEN, vector=centres[router])
            for router in existing
            if router not in versions
        ]
        return [*unwritten, *await self.vectors.points_of_routers(list(versions.values()))]

    async def _current_versions(self, routers: Sequence[int]) -> dict[int, RouterVersion]:
        return {version.router: version for version in await self.store.router_versions(routers)}


def _later(versions: Mapping[Key, int], others: Mapping[Key, int]) -> dict[Key, int]:
    """Return the versions whose keys others lack, or have in an earlier version."""
    return {key: version for key, version in versions.items() if version > others.get(key, -1)}
