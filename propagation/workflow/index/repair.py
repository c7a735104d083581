"""The vector index compared with the graph by version, and what differs made again."""

import asyncio
from collections.abc import Callable, Mapping, Sequence

from propagation.model.clients.client import kind_of
from propagation.model.routers.router import RouterVersion
from propagation.ports.graph.graph_store import GraphStore
from propagation.ports.vector_index import Collection, IndexWriter, Point
from propagation.workflow.index.vector_sync import CLIENTS_A_CALL, COLLECTIONS, VectorSync, by_kind
from propagation.workflow.views.numbers_owner import NumbersOwner

UNWRITTEN = 0
LOOK_AGAIN_SECONDS = 1.0
Versions = Mapping[int | str, int]
OnProgress = Callable[[int, int], None]


class IndexRepair:
    """The index is read before the graph: what it then shows was committed before, or is about to
    be."""

    def __init__(self, store: GraphStore, vectors: VectorSync, numbers: NumbersOwner) -> None:
        self._store = store
        self._vectors = vectors
        self._numbers = numbers

    async def mend(self, writer: IndexWriter, progress: OnProgress) -> int:
        """How many points were made again, or dropped. `progress` is told (clients done, clients to
        do). Raises IndexUnavailable."""
        return (
            await self._attributes(writer)
            + await self.routers(writer)
            + await self._clients(writer, progress)
        )

    async def _clients(self, writer: IndexWriter, progress: OnProgress) -> int:
        kept: dict[int | str, int] = {}
        for collection in COLLECTIONS.values():
            kept |= await writer.versions(collection)
        stored = await self._store.text_versions()
        dropped = await self._drop_strange(
            writer, {key: kept[key] for key in kept if kept[key] > stored.get(int(key), 0)}
        )
        stale = sorted(
            ref for ref, version in stored.items() if ref in dropped or kept.get(ref, 0) < version
        )
        for start in range(0, len(stale), CLIENTS_A_CALL):
            texts = await self._store.load_texts(stale[start : start + CLIENTS_A_CALL])
            points = await self._vectors.points_of_texts(texts.values())
            await asyncio.gather(
                *(writer.upsert(collection, part) for collection, part in by_kind(points).items())
            )
            await self._vectors.update_view(points)
            progress(min(start + CLIENTS_A_CALL, len(stale)), len(stale))
        return len(dropped.difference(stale)) + len(stale)

    async def _drop_strange(self, writer: IndexWriter, strange: Versions) -> set[int]:
        """Points of texts that the graph does not have, or not yet: cold start shows them a moment
        before it commits. An index never goes back by itself."""
        if not strange:
            return set()
        await asyncio.sleep(LOOK_AGAIN_SECONDS)
        stored = await self._store.text_versions([int(key) for key in strange])
        gone = {int(key) for key, version in strange.items() if version > stored.get(int(key), 0)}
        for kind, collection in COLLECTIONS.items():
            await writer.delete(collection, sorted(ref for ref in gone if kind_of(ref) == kind))
        return gone

    async def _attributes(self, writer: IndexWriter) -> int:
        kept = await writer.versions(Collection.ATTRIBUTES)
        stored = {
            attribute.name
            for attribute in await self._store.all_attributes()
            if attribute.canonical is None
        }
        missing, gone = sorted(stored - kept.keys()), [key for key in kept if key not in stored]
        if gone:
            await writer.delete(Collection.ATTRIBUTES, gone)
        await writer.upsert(
            Collection.ATTRIBUTES, await self._vectors.points_of_attributes(missing)
        )
        return len(missing) + len(gone)

    async def routers(self, writer: IndexWriter) -> int:
        """The same of routers alone. One without a profile yet stands at its centre, as version 0;
        a retired one is not there."""
        kept = await writer.versions(Collection.ROUTERS)
        versions = {
            version.router: version
            for version in await self._store.router_versions(self._vectors.routers)
        }
        stored = {
            router: versions[router].version if router in versions else UNWRITTEN
            for router in self._vectors.routers
        }
        stale = [router for router in stored if kept.get(router) != stored[router]]
        gone = [key for key, version in kept.items() if version > stored.get(int(key), -1)]
        if gone:
            await writer.delete(Collection.ROUTERS, gone)
        await writer.upsert(Collection.ROUTERS, await self._points(stale, versions))
        return len(stale)

    async def points_of_routers(self, routers: Sequence[int]) -> list[Point]:
        """As the graph has them now, of those that there are."""
        there = sorted(set(self._vectors.routers).intersection(routers))
        return await self._points(
            there, {version.router: version for version in await self._store.router_versions(there)}
        )

    async def _points(
        self, routers: Sequence[int], versions: Mapping[int, RouterVersion]
    ) -> list[Point]:
        centres = self._numbers.view.state.taste.centres
        unwritten = [
            Point(key=router, version=UNWRITTEN, vector=centres[router])
            for router in routers
            if router not in versions
        ]
        written = await self._vectors.points_of_routers(
            [versions[router] for router in routers if router in versions]
        )
        return [*unwritten, *written]
