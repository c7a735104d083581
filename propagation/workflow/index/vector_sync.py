"""Synchronization of index and view with committed texts, attributes and routers."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence

import numpy as np

from propagation.model import (
    ClientText,
    IndexUnavailable,
    LeaseHeld,
    Round,
    RouterVersion,
    get_kind,
    split_into_batches,
)
from propagation.ports import (
    COLLECTIONS,
    Collection,
    Embedder,
    GraphStore,
    IndexChange,
    IndexWriter,
    OutboxStore,
    Point,
)
from propagation.routing import to_canonical
from propagation.workflow.index.canonical_names import CanonicalNames
from propagation.workflow.index.embedding import LineVectors, embed_profiles
from propagation.workflow.index.text_cache import (
    IndexedText,
    LruCache,
    create_indexed_text_cache,
    get_indexed_text,
)
from propagation.workflow.views import NumbersOwner, NumbersView

CLIENTS_A_CALL = 2_000
TEXTS_A_PART = 8
ATTRIBUTE_VERSION = 1
log = logging.getLogger(__name__)


class OutboxFeed:
    """Writes points while the index answers.

    Each commit has put its changes into the outbox. A change that is written here is dropped from
    the outbox by `settle`; the others stay for IndexMaintenance. `problem` says why the index is
    not written to now; empty while it is.
    """

    def __init__(self, store: OutboxStore, index: IndexWriter) -> None:
        self._store = store
        self._index = index
        self._written: list[IndexChange] = []
        self.problem = ""

    async def put(self, points: Mapping[Collection, Sequence[Point]], round_: int = 0) -> None:
        """Write points of committed versions.

        The collections are written concurrently: a store may group them into one commit.

        Args:
            round_: The round to whose changes the points belong; 0: to none.
        """
        if self.problem:
            return
        try:
            await asyncio.gather(
                *(self._index.upsert(collection, found) for collection, found in points.items())
            )
        except IndexUnavailable as error:
            self.stop(error)
        else:
            self._written.extend(
                IndexChange(collection, point.key, point.version, round_)
                for collection, found in points.items()
                for point in found
            )

    def stop(self, error: IndexUnavailable | LeaseHeld) -> None:
        """Stop writing until maintenance has found and compared the index again."""
        if not self.problem:
            log.warning("%s; changes to the vector index wait in the outbox", error)
        self.problem = str(error)

    async def settle(self) -> None:
        """Drop the written changes from the outbox."""
        written, self._written = self._written, []
        if written:
            await self._store.drop_changes(written)


class VectorSync:
    """Follows commits: every writer of texts, attributes and routers reports them here.

    Args:
        yield_to_calls: Awaited between parts of the work.
    """

    def __init__(
        self,
        store: GraphStore,
        embedder: Embedder,
        index: IndexWriter,
        numbers: NumbersOwner,
        yield_to_calls: Callable[[], Awaitable[None]],
    ) -> None:
        self._store = store
        self._yield_to_calls = yield_to_calls
        self._embedder = embedder
        self.feed = OutboxFeed(store, index)
        self._numbers = numbers
        self._lines = LineVectors(embedder)
        self._versions: LruCache[int, int] = LruCache(65_536)
        self.texts = create_indexed_text_cache(store)
        self.canonical = CanonicalNames(store)

    @property
    def routers(self) -> list[int]:
        """The numbers of the taste routers that exist."""
        return self._numbers.view.routers

    def has_version(self, ref: int, version: int) -> bool:
        """Tell whether the view has, or will soon have, a text's version.

        A later version counts, too.
        """
        return self._versions.find((ref,)).get(ref, 0) >= version

    def note_committed(self, texts: Sequence[IndexedText]) -> None:
        """Note committed texts that will be passed to `publish_committed`."""
        for text in texts:
            self._versions.put(text.ref, text.version)
            self.texts.put(text.ref, text)

    async def publish(self, texts: Sequence[ClientText]) -> None:
        """Note committed texts, and take them into the index and the view."""
        indexed = [get_indexed_text(text) for text in texts]
        self.note_committed(indexed)
        await self.publish_committed(indexed)

    async def publish_committed(self, texts: Sequence[IndexedText]) -> None:
        """Take noted texts into the index and the view.

        The graph is right without this: on a failure the changes wait in the outbox.
        """
        try:
            await self.write(texts)
        except Exception as error:
            self._versions.forget([text.ref for text in texts])
            log.warning(
                "%d texts could not be written to the vector index and will be tried again: %s",
                len(texts),
                error,
            )

    async def publish_round(
        self,
        published: Round,
        remapped: Sequence[IndexedText],
        new: Sequence[str],
        versions: Sequence[RouterVersion],
    ) -> None:
        """Take a published round into the index.

        On a failure its changes wait in the outbox.

        Args:
            published: The round.
            remapped: Texts of clients that hold a newly mapped attribute.
            new: Canonical attributes that are new.
            versions: The routers' new versions.
        """
        try:
            await self.feed.put(
                {
                    **group_by_kind(await self._make_points(remapped)),
                    Collection.ATTRIBUTES: await self.build_points_of_attributes(new),
                    Collection.ROUTERS: await self.build_points_of_routers(versions),
                },
                published.number,
            )
        except Exception as error:
            log.warning(
                "round %d could not be written to the vector index and will be tried again: %s",
                published.number,
                error,
            )

    def build_outbox_changes(
        self,
        remapped: Sequence[IndexedText],
        new: Sequence[str],
        versions: Sequence[RouterVersion],
    ) -> list[IndexChange]:
        """List what publish_round will write, for the outbox."""
        return [
            *(
                IndexChange(COLLECTIONS[get_kind(text.ref)], text.ref, text.version)
                for text in remapped
            ),
            *(IndexChange(Collection.ATTRIBUTES, name, ATTRIBUTE_VERSION) for name in new),
            *(
                IndexChange(Collection.ROUTERS, version.router, version.version)
                for version in self._leave_out_retired(versions)
            ),
        ]

    async def apply_remote(self, texts: Iterable[ClientText]) -> None:
        """Take another process's texts into the view, unless it has newer versions.

        The other process writes them into the index.
        """
        points = await self.build_points_of_texts(texts)
        known = self._versions.find([int(point.key) for point in points])
        await self.update_view(
            [point for point in points if known.get(int(point.key), 0) <= point.version]
        )

    async def fill_view(self) -> None:
        """Embed the text of every client into the view."""
        refs = sorted(await self._store.get_text_versions())
        for batch in split_into_batches(refs, CLIENTS_A_CALL):
            texts = await self._store.load_texts(batch)
            await self.apply_remote(texts.values())

    def forget(self, refs: Sequence[int], names: frozenset[str], unmapped: frozenset[str]) -> None:
        """Forget clients and attributes that no longer exist.

        Args:
            refs: The clients.
            names: The attributes.
            unmapped: Names that are no longer mapped to another attribute.
        """
        self._versions.forget(refs)
        self.texts.forget(refs)
        self.canonical.forget(names, unmapped)

    async def write(self, texts: Sequence[IndexedText]) -> None:
        """Write texts into the index and the view; let errors pass."""
        points = await self._make_points(texts)
        for part in split_into_batches(points, CLIENTS_A_CALL):
            await self.feed.put(group_by_kind(part))
            await self.update_view(part)

    async def update_view(self, points: Sequence[Point]) -> None:
        """Take clients' vectors into the view."""
        if points:
            await self._numbers.run(
                NumbersView.set_profiles,
                [int(point.key) for point in points],
                np.stack([point.vector for point in points]),
            )
        for point in points:
            self._versions.put(int(point.key), point.version)

    async def build_points_of_texts(self, texts: Iterable[ClientText]) -> list[Point]:
        """Make clients' points."""
        return await self._make_points([get_indexed_text(text) for text in texts])

    async def build_points_of_attributes(self, names: Sequence[str]) -> list[Point]:
        """Make points of canonical attributes."""
        return [
            Point(key=name, version=ATTRIBUTE_VERSION, vector=vector)
            for name, vector in zip(names, await self._embedder.embed(names), strict=True)
        ]

    async def build_points_of_routers(self, versions: Sequence[RouterVersion]) -> list[Point]:
        """Make points of taste routers."""
        kept = self._leave_out_retired(versions)
        vectors = await self._embedder.embed([version.text for version in kept])
        return [
            Point(
                key=version.router,
                version=version.version,
                vector=vector,
                attributes=frozenset(version.attributes),
            )
            for version, vector in zip(kept, vectors, strict=True)
        ]

    async def _make_points(self, texts: Sequence[IndexedText]) -> list[Point]:
        """Make the points of clients.

        All lines are embedded together, then summed in small parts.
        """
        points: list[Point] = []
        lines = await self._lines.embed(texts)
        for part in split_into_batches(texts, TEXTS_A_PART):
            vectors = embed_profiles(part, lines, self._embedder.dimension)
            for text, vector in zip(part, vectors, strict=True):
                attributes = frozenset(to_canonical(text.attributes, self.canonical.targets))
                points.append(
                    Point(key=text.ref, version=text.version, vector=vector, attributes=attributes)
                )
            await self._yield_to_calls()
        return points

    def _leave_out_retired(self, versions: Sequence[RouterVersion]) -> list[RouterVersion]:
        """Leave out retired routers."""
        routers = frozenset(self.routers)
        return [version for version in versions if version.router in routers]


def group_by_kind(points: Sequence[Point]) -> dict[Collection, Sequence[Point]]:
    """Divide clients' points into users' and items'."""
    return {
        collection: [point for point in points if get_kind(int(point.key)) == kind]
        for kind, collection in COLLECTIONS.items()
    }
