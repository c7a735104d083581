"""Texts, attributes and routers as vectors: into the index, and profiles' into the view."""

import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence

import numpy as np

from propagation.model.clients.client import ClientKind, kind_of
from propagation.model.clients.client_text import ClientText
from propagation.model.routers.round import Round
from propagation.model.routers.router import RouterVersion
from propagation.ports.embedder import Embedder
from propagation.ports.graph.graph_store import GraphStore
from propagation.ports.graph.outbox import IndexChange
from propagation.ports.vector_index import Collection, Point
from propagation.routing.canonical_attributes import to_canonical
from propagation.workflow.concurrency.lru_cache import CountedLruCache
from propagation.workflow.index.line_vectors import LineVectors
from propagation.workflow.index.outbox_feed import OutboxFeed
from propagation.workflow.views.client_texts import IndexedText, indexed_text, indexed_text_cache
from propagation.workflow.views.numbers_owner import NumbersOwner
from propagation.workflow.views.numbers_view import NumbersView

VERSIONS_KEPT = 65_536
CLIENTS_A_CALL = 2_000
TEXTS_A_PART = 8
ATTRIBUTE_VERSION = 1
COLLECTIONS = {ClientKind.USER: Collection.USERS, ClientKind.ITEM: Collection.ITEMS}
log = logging.getLogger(__name__)


class VectorSync:
    """Every writer of texts, attributes and routers says here what it committed. `yield_to_calls` is
    awaited between parts of it."""

    def __init__(
        self,
        store: GraphStore,
        embedder: Embedder,
        feed: OutboxFeed,
        numbers: NumbersOwner,
        yield_to_calls: Callable[[], Awaitable[None]],
    ) -> None:
        self._give_way = yield_to_calls
        self._store = store
        self._embedder = embedder
        self._feed = feed
        self._numbers = numbers
        self._lines = LineVectors(embedder)
        self._canonical: dict[str, str] = {}
        self._canonical_round = 0
        self._versions: CountedLruCache[int, int] = CountedLruCache(VERSIONS_KEPT)
        self.said = indexed_text_cache(store)

    def has_version(self, ref: int, version: int) -> bool:
        """Whether this process' view has a client's text of this version, or a later one, or is
        about to."""
        return self._versions.find((ref,)).get(ref, 0) >= version

    async def apply_remote(self, texts: Iterable[ClientText]) -> None:
        """What another process committed, into this one's view, unless it has newer ones by now;
        that process has it put into the index."""
        points = await self.points_of_texts(texts)
        shown = self._versions.find([int(point.key) for point in points])
        points = [point for point in points if shown.get(int(point.key), 0) <= point.version]
        await self.update_view(points)

    async def refresh_canonical(self, published: int) -> bool:
        """Mapped attributes as of a published round; whether they had to be read again."""
        if published <= self._canonical_round:
            return False
        await self.load_canonical()
        return True

    def add_canonical(self, published: int, mapped: Mapping[str, str]) -> None:
        """This process published a round that mapped these, knowing all that was mapped before."""
        self._canonical.update(mapped)
        self._canonical_round = max(self._canonical_round, published)

    @property
    def canonical_round(self) -> int:
        """The newest round that this process published or followed."""
        return self._canonical_round

    @property
    def canonical(self) -> dict[str, str]:
        """Attributes that were mapped to another one, and to which."""
        return self._canonical

    async def load_canonical(self) -> None:
        """What start-up needs in memory: the mapped attributes."""
        last = await self._store.last_round()
        self._canonical = {
            attribute.name: attribute.canonical
            for attribute in await self._store.all_attributes()
            if attribute.canonical is not None
        }
        self._canonical_round = last.number if last else 0

    async def publish(self, texts: Sequence[ClientText]) -> None:
        """Committed texts, into the index and the view."""
        said = [indexed_text(text) for text in texts]
        self.note_committed(said)
        await self.publish_committed(said)

    def note_committed(self, texts: Sequence[IndexedText]) -> None:
        """These are committed, and will be shown."""
        for text in texts:
            self._versions.put(text.ref, text.version)
            self.said.put(text.ref, text)

    async def publish_committed(self, texts: Sequence[IndexedText]) -> None:
        """What is expected. The graph is right without it: what fails here waits in the outbox, and
        is carried over by upkeep."""
        try:
            await self.write_points(await self.points_of_lines(texts))
        except Exception as error:
            self._versions.forget([text.ref for text in texts])
            log.warning(
                "the index lags: %d texts not shown, they will be tried again: %s",
                len(texts),
                error,
            )

    async def publish_round(
        self,
        done: Round,
        remapped: Sequence[IndexedText],
        fresh: Sequence[str],
        versions: Sequence[RouterVersion],
    ) -> None:
        """The same, of what a round published: clients that hold a newly mapped attribute, new
        canonical attributes, and router versions."""
        try:
            await self._feed.put(
                {
                    **by_kind(await self.points_of_lines(remapped)),
                    Collection.ATTRIBUTES: await self.points_of_attributes(fresh),
                    Collection.ROUTERS: await self.points_of_routers(versions),
                },
                done.number,
            )
        except Exception as error:
            log.warning(
                "the index lags: round %d not shown, it will be tried again: %s", done.number, error
            )

    async def rename_attributes(
        self, mapped: Mapping[str, str], texts: Sequence[IndexedText]
    ) -> None:
        """Use new canonical names, and write the clients that hold them, before a round routes."""
        self._canonical.update(mapped)
        await self.write(texts)

    async def write(self, texts: Sequence[IndexedText]) -> None:
        """The same."""
        await self.write_points(await self.points_of_lines(texts))

    async def write_points(self, points: Sequence[Point]) -> None:
        """Into the index and the view: committed texts' points."""
        for start in range(0, len(points), CLIENTS_A_CALL):
            part = points[start : start + CLIENTS_A_CALL]
            await self._feed.put(by_kind(part))
            await self.update_view(part)

    async def update_view(self, points: Sequence[Point]) -> None:
        """Clients' vectors into this process' view."""
        if points:
            await self._numbers.run(
                NumbersView.set_profiles,
                [int(point.key) for point in points],
                np.stack([point.vector for point in points]),
            )
        for point in points:
            self._versions.put(int(point.key), point.version)

    def outbox_changes(
        self,
        remapped: Sequence[IndexedText],
        fresh: Sequence[str],
        versions: Sequence[RouterVersion],
    ) -> list[IndexChange]:
        """What a round will publish of the index, for the outbox."""
        return [
            *(
                IndexChange(COLLECTIONS[kind_of(said.ref)], said.ref, said.version)
                for said in remapped
            ),
            *(IndexChange(Collection.ATTRIBUTES, name, ATTRIBUTE_VERSION) for name in fresh),
            *(
                IndexChange(Collection.ROUTERS, version.router, version.version)
                for version in self._of_routers(versions)
            ),
        ]

    async def points_of_texts(self, texts: Iterable[ClientText]) -> list[Point]:
        """What the index holds of these texts."""
        return await self.points_of_lines([indexed_text(text) for text in texts])

    async def points_of_lines(self, texts: Sequence[IndexedText]) -> list[Point]:
        """The same: their lines embedded together, then summed in small parts, so that others get
        their turns on the loop."""
        points: list[Point] = []
        await self._lines.embed_new(texts)
        for start in range(0, len(texts), TEXTS_A_PART):
            part = texts[start : start + TEXTS_A_PART]
            for text, vector in zip(part, await self._lines.profile_vectors(part), strict=True):
                points.append(
                    Point(
                        key=text.ref,
                        version=text.version,
                        vector=vector,
                        attributes=frozenset(to_canonical(text.attributes, self._canonical)),
                    )
                )
            await self._give_way()
        return points

    def forget(self, refs: Sequence[int], names: frozenset[str], unmapped: frozenset[str]) -> None:
        """Clients and attributes that are no more, and names that no longer stand for another one."""
        self._versions.forget(refs)
        self.said.forget(refs)
        for name in [
            name for name, target in self._canonical.items() if name in unmapped or target in names
        ]:
            del self._canonical[name]

    async def points_of_attributes(self, names: Sequence[str]) -> list[Point]:
        """Of canonical attributes."""
        vectors = await self._embedder.embed(names)
        return [
            Point(key=name, version=ATTRIBUTE_VERSION, vector=vector)
            for name, vector in zip(names, vectors, strict=True)
        ]

    async def points_of_routers(self, versions: Sequence[RouterVersion]) -> list[Point]:
        """Of taste routers."""
        kept = self._of_routers(versions)
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

    @property
    def routers(self) -> list[int]:
        """The taste routers that there are, by number."""
        return self._numbers.view.routers

    def _of_routers(self, versions: Sequence[RouterVersion]) -> list[RouterVersion]:
        """A point-to-point sender is no router."""
        routers = frozenset(self.routers)
        return [version for version in versions if version.router in routers]


def by_kind(points: Sequence[Point]) -> dict[Collection, Sequence[Point]]:
    """Clients' points, users and items apart."""
    return {
        collection: [point for point in points if kind_of(int(point.key)) == kind]
        for kind, collection in COLLECTIONS.items()
    }
