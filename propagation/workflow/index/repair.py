"""Repair of the vector index.

Points that differ from the graph are made again, or deleted.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from itertools import groupby
from typing import TypeVar

from propagation.model import RouterVersion, kind_of
from propagation.ports import COLLECTIONS, Collection, GraphStore, IndexChange, IndexWriter, Point
from propagation.workflow.index.vector_sync import (
    CLIENTS_A_CALL,
    VectorSync,
    group_by_kind,
)
from propagation.workflow.views import NumbersOwner

UNWRITTEN = 0
SECOND_LOOK_SECONDS = 1.0
ALL_CHANGES = 1_000_000
OnProgress = Callable[[int, int], None]
Refresh = Callable[[], Awaitable[object]]
Key = TypeVar("Key", int, str)


def no_progress(done: int, total: int) -> None:
    """Ignore progress."""


class IndexRepair:
    """Compares an index with the graph.

    The index is read before the graph: what it then has was committed before, or is about to be.
    """

    def __init__(self, store: GraphStore, vectors: VectorSync, numbers: NumbersOwner) -> None:
        self._store = store
        self._vectors = vectors
        self._numbers = numbers

    async def run(
        self, writer: IndexWriter, progress: OnProgress, refresh: Refresh | None = None
    ) -> int:
        """Make points again, or delete them, until the index equals the graph.

        Args:
            progress: Gets how many clients are done, and how many there are to do.
            refresh: Makes the writer see what other processes wrote meanwhile. If given, points
                that are behind are looked at twice: another process may be about to write them.

        Returns:
            How many points differed.

        Raises:
            IndexUnavailable: The index does not answer.
        """
        attributes = await self._repair_attributes(writer, refresh)
        routers = await self.repair_routers(writer, refresh)
        return attributes + routers + await self._repair_clients(writer, progress, refresh)

    async def repair_routers(self, writer: IndexWriter, refresh: Refresh | None = None) -> int:
        """Compare routers alone; return how many points differed.

        A router without a profile yet stands at its centre, as version 0; a retired one has no
        point.
        """
        indexed = await writer.versions(Collection.ROUTERS)
        current = await self._current_versions(self._vectors.routers)
        stored = {
            router: current[router].version if router in current else UNWRITTEN
            for router in self._vectors.routers
        }
        behind = {
            router: stored[router] for router in stored if indexed.get(router, -1) < stored[router]
        }
        ahead = [key for key, version in indexed.items() if version > stored.get(int(key), -1)]
        stale, count = await self._look_again(writer, [Collection.ROUTERS], behind, refresh)
        too_new = stored.keys() & ahead
        await writer.delete(Collection.ROUTERS, ahead)
        await writer.upsert(
            Collection.ROUTERS, await self._points_of_routers(sorted(stale | too_new))
        )
        return count + len(too_new)

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
        await self._store.drop_changes(changes)

    async def _current_points(
        self, collection: Collection, keys: Sequence[int | str]
    ) -> list[Point]:
        if collection == Collection.ATTRIBUTES:
            known = await self._store.get_attributes([str(key) for key in keys])
            return await self._vectors.points_of_attributes(
                [name for name, attribute in known.items() if attribute.canonical is None]
            )
        if collection == Collection.ROUTERS:
            return await self._points_of_routers([int(key) for key in keys])
        texts = await self._store.load_texts([int(key) for key in keys])
        points = await self._vectors.points_of_texts(
            text for text in texts.values() if text.profile.version
        )
        await self._vectors.update_view(points)
        return points

    async def _points_of_routers(self, routers: Sequence[int]) -> list[Point]:
        """Make the points of those routers that exist.

        They are made as the graph has them now.
        """
        existing = sorted(set(self._vectors.routers).intersection(routers))
        versions = await self._current_versions(existing)
        centres = self._numbers.view.state.taste.centres
        unwritten = [
            Point(key=router, version=UNWRITTEN, vector=centres[router])
            for router in existing
            if router not in versions
        ]
        written = await self._vectors.points_of_routers(list(versions.values()))
        return [*unwritten, *written]

    async def _repair_clients(
        self, writer: IndexWriter, progress: OnProgress, refresh: Refresh | None
    ) -> int:
        indexed: dict[int | str, int] = {}
        for collection in COLLECTIONS.values():
            indexed |= await writer.versions(collection)
        stored = await self._store.text_versions()
        ahead = [key for key in indexed if indexed[key] > stored.get(int(key), 0)]
        deleted = await self._delete_ahead(writer, {int(key): indexed[key] for key in ahead})
        behind = {ref: stored[ref] for ref in stored if indexed.get(ref, 0) < stored[ref]}
        late, count = await self._look_again(writer, [*COLLECTIONS.values()], behind, refresh)
        stale = sorted(late | stored.keys() & deleted)
        for start in range(0, len(stale), CLIENTS_A_CALL):
            texts = await self._store.load_texts(stale[start : start + CLIENTS_A_CALL])
            points = await self._vectors.points_of_texts(texts.values())
            await asyncio.gather(
                *(writer.upsert(kind, part) for kind, part in group_by_kind(points).items())
            )
            await self._vectors.update_view(points)
            progress(min(start + CLIENTS_A_CALL, len(stale)), len(stale))
        return count + len(deleted)

    async def _delete_ahead(self, writer: IndexWriter, ahead: Mapping[int, int]) -> set[int]:
        """Delete points of text versions that the graph does not have.

        It looks twice: cold start indexes its texts a moment before it commits them. An index never
        goes back to an older version by itself.

        Returns:
            Their clients.
        """
        if not ahead:
            return set()
        await asyncio.sleep(SECOND_LOOK_SECONDS)
        stored = await self._store.text_versions(list(ahead))
        deleted = {ref for ref, version in ahead.items() if version > stored.get(ref, 0)}
        for kind, collection in COLLECTIONS.items():
            await writer.delete(collection, sorted(ref for ref in deleted if kind_of(ref) == kind))
        return deleted

    async def _repair_attributes(self, writer: IndexWriter, refresh: Refresh | None) -> int:
        indexed = await writer.versions(Collection.ATTRIBUTES)
        stored = {
            attribute.name
            for attribute in await self._store.all_attributes()
            if attribute.canonical is None
        }
        behind = dict.fromkeys(stored - indexed.keys(), 0)
        missing, count = await self._look_again(writer, [Collection.ATTRIBUTES], behind, refresh)
        surplus = [key for key in indexed if key not in stored]
        await writer.delete(Collection.ATTRIBUTES, surplus)
        points = await self._vectors.points_of_attributes(sorted(missing))
        await writer.upsert(Collection.ATTRIBUTES, points)
        return count + len(surplus)

    async def _current_versions(self, routers: Sequence[int]) -> dict[int, RouterVersion]:
        versions = await self._store.router_versions(routers)
        return {version.router: version for version in versions}

    async def _look_again(
        self,
        writer: IndexWriter,
        collections: Sequence[Collection],
        behind: Mapping[Key, int],
        refresh: Refresh | None,
    ) -> tuple[set[Key], int]:
        """Look again at points that are behind their versions.

        What a process commits waits in the outbox until it is written. A point that is behind
        without waiting there would stay so.

        Returns:
            The keys that are still behind; and how many of these nothing in the outbox will mend.
        """
        if refresh is None or not behind:
            return set(behind), len(behind)
        await asyncio.sleep(SECOND_LOOK_SECONDS)
        changes = await self._store.pending_changes(0, ALL_CHANGES)
        waiting = {change.key for change in changes if change.collection in collections}
        await refresh()
        indexed: dict[int | str, int] = {}
        for collection in collections:
            indexed |= await writer.versions(collection)
        still = {key for key, version in behind.items() if indexed.get(key, -1) < version}
        return still, len(still - waiting)
