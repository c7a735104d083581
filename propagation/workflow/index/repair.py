"""Repair of the vector index.

Points that differ from the graph are made again, or deleted.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass

from propagation.model import RouterVersion, get_kind
from propagation.ports import (
    COLLECTIONS,
    Collection,
    Embedder,
    GraphStore,
    IndexChange,
    IndexWriter,
    Point,
    VectorIndex,
)
from propagation.workflow.index.vector_sync import ATTRIBUTE_VERSION, CLIENTS_A_CALL, VectorSync
from propagation.workflow.views import NumbersOwner

UNWRITTEN = 0
SECOND_LOOK_SECONDS = 1.0
ALL_CHANGES = 1_000_000
OnProgress = Callable[[int, int], None]
Key = int | str


def ignore_progress(done: int, total: int) -> None:
    """Ignore progress."""


@dataclass(frozen=True)
class Difference:
    """Differences of one collection of an index from the graph.

    Attributes:
        behind: Points that the index lacks or has in an earlier version, with the graph's version.
        ahead: Points that the graph lacks or has in an earlier version, with the index's version.
        waiting: Points with a change in the outbox, which will mend them.
    """

    collection: Collection
    behind: Mapping[Key, int]
    ahead: Mapping[Key, int]
    waiting: Set[Key]

    @property
    def unexplained(self) -> int:
        """How many points differ, without those that the outbox will mend."""
        return len(self.behind.keys() - self.waiting) + len(self.ahead)


@dataclass
class IndexRepair:
    """Compares an index with the graph.

    The index is read before the graph, so that the graph has every version that was found in the
    index, except those that are about to be committed.
    """

    store: GraphStore
    embedder: Embedder
    index: VectorIndex
    vectors: VectorSync
    numbers: NumbersOwner

    async def is_complete(self) -> bool:
        """Look for the index's collections; tell whether all exist.

        Raises:
            IndexUnavailable: The index does not answer.
            IncompatibleSettings: It was made with another embedder.
        """
        return await self.index.find_collections(self.embedder.name, self.embedder.dimension)

    async def run(
        self,
        writer: IndexWriter,
        progress: OnProgress,
        collections: Iterable[Collection] = Collection,
        *,
        look_twice: bool = False,
    ) -> int:
        """Make points again, or delete them, until the index equals the graph.

        Args:
            progress: Gets how many points are done, and how many there are to do.
            collections: The collections to compare.
            look_twice: Compare again after a second if the outbox does not explain all differences:
                another process may be about to write the index, or to commit what is in it.

        Returns:
            How many points were made again or deleted; with `look_twice`, how many of them the
            outbox did not explain.

        Raises:
            IndexUnavailable: The index does not answer.
        """
        differences = await self._compare(writer, dict.fromkeys(collections))
        if look_twice and any(one.unexplained for one in differences):
            await asyncio.sleep(SECOND_LOOK_SECONDS)
            await self.is_complete()
            differences = await self._compare(writer, {one.collection: one for one in differences})
        stale: list[tuple[Collection, Key]] = []
        for one in differences:
            await writer.delete(one.collection, list(one.ahead))
            stale += [(one.collection, key) for key in (*one.behind, *one.ahead)]
        for start in range(0, len(stale), CLIENTS_A_CALL):
            part = stale[start : start + CLIENTS_A_CALL]
            await self._write_current(writer, part)
            progress(start + len(part), len(stale))
        return sum(one.unexplained for one in differences) if look_twice else len(stale)

    async def _compare(
        self, writer: IndexWriter, collections: Mapping[Collection, Difference | None]
    ) -> list[Difference]:
        """Compare collections by version.

        Committed changes wait in the outbox until they are written. Cold start indexes its texts a
        moment before it commits them. An index never goes back to an older version by itself.

        Args:
            writer: The writer of the index.
            collections: The collections, each with its differences at the first look, of which only
                those that remain count; None at the first look.
        """
        changes = await self.store.get_pending_changes(0, ALL_CHANGES)
        differences = []
        for collection, before in collections.items():
            indexed = await writer.get_versions(collection)
            stored = await self._read_stored_versions(collection)
            differences.append(
                Difference(
                    collection,
                    behind=_find_later(before.behind if before else stored, indexed),
                    ahead=_find_later(before.ahead if before else indexed, stored),
                    waiting={change.key for change in changes if change.collection == collection},
                )
            )
        return differences

    async def _read_stored_versions(self, collection: Collection) -> dict[Key, int]:
        """Return the version that the graph demands of each point, by key.

        A router without a profile yet stands at its centre, as version 0; a retired one has no
        point.
        """
        if collection == Collection.ATTRIBUTES:
            return {
                attribute.name: ATTRIBUTE_VERSION
                for attribute in await self.store.get_all_attributes()
                if attribute.canonical is None
            }
        if collection == Collection.ROUTERS:
            routers = self.vectors.routers
            written = await self._read_current_versions(routers)
            return {
                router: written[router].version if router in written else UNWRITTEN
                for router in routers
            }
        return {
            ref: version
            for ref, version in (await self.store.get_text_versions()).items()
            if COLLECTIONS[get_kind(ref)] == collection
        }

    async def carry_over(self, writer: IndexWriter, changes: Sequence[IndexChange]) -> None:
        """Write the points of changes in the outbox; drop the changes."""
        await self._write_current(writer, [(change.collection, change.key) for change in changes])
        await self.store.drop_changes(changes)

    async def _write_current(
        self, writer: IndexWriter, places: Sequence[tuple[Collection, Key]]
    ) -> None:
        """Write points as the graph has them; delete those that it lacks."""
        for collection in dict.fromkeys(of for of, _ in places):
            keys = list(dict.fromkeys(key for of, key in places if of == collection))
            points = await self._build_current_points(collection, keys)
            written = {point.key for point in points}
            await writer.upsert(collection, points)
            await writer.delete(collection, [key for key in keys if key not in written])

    async def _build_current_points(
        self, collection: Collection, keys: Sequence[int | str]
    ) -> list[Point]:
        if collection == Collection.ATTRIBUTES:
            known = await self.store.get_attributes([str(key) for key in keys])
            return await self.vectors.build_points_of_attributes(
                [name for name, attribute in known.items() if attribute.canonical is None]
            )
        if collection == Collection.ROUTERS:
            return await self._build_points_of_routers([int(key) for key in keys])
        texts = await self.store.load_texts([int(key) for key in keys])
        points = await self.vectors.build_points_of_texts(
            text for text in texts.values() if text.profile.version
        )
        await self.vectors.update_view(points)
        return points

    async def _build_points_of_routers(self, routers: Sequence[int]) -> list[Point]:
        """Make the current points of those routers that exist."""
        existing = sorted(set(self.vectors.routers).intersection(routers))
        versions = await self._read_current_versions(existing)
        unwritten = [
            Point(
                key=router, version=UNWRITTEN, vector=self.numbers.view.state.taste.centres[router]
            )
            for router in existing
            if router not in versions
        ]
        return [*unwritten, *await self.vectors.build_points_of_routers(list(versions.values()))]

    async def _read_current_versions(self, routers: Sequence[int]) -> dict[int, RouterVersion]:
        return {
            version.router: version for version in await self.store.get_router_versions(routers)
        }


def _find_later(versions: Mapping[Key, int], others: Mapping[Key, int]) -> dict[Key, int]:
    """Return versions whose keys others lack, or have in earlier versions."""
    return {key: version for key, version in versions.items() if version > others.get(key, -1)}
