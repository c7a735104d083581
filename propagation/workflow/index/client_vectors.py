"""Texts, attributes and routers as vectors: into the index, and profiles' into the view."""

import logging
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from propagation.model.clients.client import ClientKind, kind_of
from propagation.model.clients.client_text import ClientText
from propagation.model.routers.round import Round
from propagation.model.routers.router import RouterVersion
from propagation.ports.embedder import Embedder
from propagation.ports.graph.graph_store import GraphStore
from propagation.ports.graph.outbox import IndexChange
from propagation.ports.vector_index import Collection, Point
from propagation.routing.canonical_attributes import in_canonical
from propagation.workflow.concurrency.lru_cache import Recent
from propagation.workflow.index.outbox_feed import IndexFeed
from propagation.workflow.views.client_texts import held_said
from propagation.workflow.views.numbers_owner import Numbers
from propagation.workflow.views.numbers_view import NumbersView
from propagation.workflow.views.said import Said, said_of

LINES_KEPT, LINES_LEAST, LINES_AT_ONCE = 65_536, 4_096, 2_048
SHOWN_KEPT = 65_536
CLIENTS_A_CALL = 2_000
TEXTS_A_PART = 8
ATTRIBUTE_VERSION = 1
COLLECTIONS = {ClientKind.USER: Collection.USERS, ClientKind.ITEM: Collection.ITEMS}
log = logging.getLogger(__name__)


class LineVectors:
    """Embeds the lines of profiles, and keeps the vectors of the last 65,536: one interaction
    changes one line in twelve."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._places: OrderedDict[str, int] = OrderedDict()
        self._vectors = np.zeros((0, embedder.dimension), np.float32)
        self._model = embedder.name

    async def know(self, texts: Sequence[Said]) -> None:
        """Embed what is new among all their lines at once: an endpoint is asked in as few calls as
        it takes."""
        lines = list(dict.fromkeys(line for text in texts for line in text.lines))
        for start in range(0, len(lines), LINES_AT_ONCE):
            await self._rows(lines[start : start + LINES_AT_ONCE])

    async def of_texts(self, texts: Sequence[Said]) -> NDArray[np.float32]:
        """[len, D]: each profile's lines, summed by weight and normalised; zeros for an empty
        profile."""
        row_of = {
            line: row
            for row, line in enumerate(dict.fromkeys(line for text in texts for line in text.lines))
        }
        counts = np.array([len(text.lines) for text in texts], np.int64)
        out = np.zeros((len(texts), self._embedder.dimension), np.float32)
        if row_of:
            vectors = await self._rows(list(row_of))
            rows = np.array([row_of[line] for text in texts for line in text.lines])
            weights = np.array([weight for text in texts for weight in text.weights], np.float32)
            written = counts > 0
            starts = (np.cumsum(counts) - counts)[written]
            out[written] = np.add.reduceat(vectors[rows] * weights[:, None], starts)
        norms = np.linalg.norm(out, axis=1, keepdims=True)
        out /= np.where(norms > 0, norms, 1)
        return out

    async def _rows(self, lines: Sequence[str]) -> NDArray[np.float32]:
        """[len, D] of distinct lines. What is kept is taken before what is new is waited for:
        others may put it out meanwhile."""
        if self._model != self._embedder.name:
            self._places.clear()
            self._model = self._embedder.name
        rows = np.zeros((len(lines), self._embedder.dimension), np.float32)
        known = [row for row, line in enumerate(lines) if line in self._places]
        rows[known] = self._vectors[[self._places[lines[row]] for row in known]]
        for row in known:
            self._places.move_to_end(lines[row])
        new = sorted(set(range(len(lines))).difference(known), key=lines.__getitem__)
        if new:
            model = self._embedder.name
            rows[new] = await self._embedder.embed([lines[row] for row in new])
            if (
                not self._model == model == self._embedder.name
            ):  # what it made is of no use any more
                return await self._rows(lines)
        for row in new:
            if lines[row] not in self._places:  # another caller may have embedded it meanwhile
                place = self._places[lines[row]] = self._place()
                self._vectors[place] = rows[row]
        return rows

    def _place(self) -> int:
        """A free row; that of the line which was not used for longest where there is none."""
        if len(self._places) >= LINES_KEPT:
            return self._places.popitem(last=False)[1]
        if len(self._places) == len(self._vectors):
            more = np.zeros(
                (max(LINES_LEAST, len(self._vectors)), self._embedder.dimension), np.float32
            )
            self._vectors = np.concatenate([self._vectors, more])
        return len(self._places)


class Vectors:
    """Every writer of texts, attributes and routers says here what it committed. `give_way` is
    awaited between parts of it."""

    def __init__(
        self,
        store: GraphStore,
        embedder: Embedder,
        feed: IndexFeed,
        numbers: Numbers,
        give_way: Callable[[], Awaitable[None]],
    ) -> None:
        self._give_way = give_way
        self._store = store
        self._embedder = embedder
        self._feed = feed
        self._numbers = numbers
        self._lines = LineVectors(embedder)
        self._canonical: dict[str, str] = {}
        self._named_through = 0
        self._shown: Recent[int, int] = Recent(SHOWN_KEPT)
        self.said = held_said(store)

    def has_shown(self, ref: int, version: int) -> bool:
        """Whether this process' view has a client's text of this version, or a later one, or is
        about to."""
        return self._shown.find((ref,)).get(ref, 0) >= version

    async def see(self, texts: Iterable[ClientText]) -> None:
        """What another process committed, into this one's view, unless it has newer ones by now;
        that process has it put into the index."""
        points = await self.points_of(texts)
        shown = self._shown.find([int(point.key) for point in points])
        points = [point for point in points if shown.get(int(point.key), 0) <= point.version]
        await self.into_view(points)

    async def know_names(self, published: int) -> bool:
        """Mapped attributes as of a published round; whether they had to be read again."""
        if published <= self._named_through:
            return False
        await self.load()
        return True

    def named(self, published: int, mapped: Mapping[str, str]) -> None:
        """This process published a round that mapped these, knowing all that was mapped before."""
        self._canonical.update(mapped)
        self._named_through = max(self._named_through, published)

    @property
    def rounds_known(self) -> int:
        """The newest round that this process published or followed."""
        return self._named_through

    @property
    def canonical(self) -> dict[str, str]:
        """Attributes that were mapped to another one, and to which."""
        return self._canonical

    async def load(self) -> None:
        """What start-up needs in memory: the mapped attributes."""
        last = await self._store.last_round()
        self._canonical = {
            attribute.name: attribute.canonical
            for attribute in await self._store.all_attributes()
            if attribute.canonical is not None
        }
        self._named_through = last.number if last else 0

    async def show(self, texts: Sequence[ClientText]) -> None:
        """Committed texts, into the index and the view."""
        said = [said_of(text) for text in texts]
        self.expect(said)
        await self.show_said(said)

    def expect(self, texts: Sequence[Said]) -> None:
        """These are committed, and will be shown."""
        for text in texts:
            self._shown.put(text.ref, text.version)
            self.said.put(text.ref, text)

    async def show_said(self, texts: Sequence[Said]) -> None:
        """What is expected. The graph is right without it: what fails here waits in the outbox, and
        is carried over by upkeep."""
        try:
            await self.take_points(await self.points_of_said(texts))
        except Exception as error:
            self._shown.forget([text.ref for text in texts])
            log.warning(
                "the index lags: %d texts not shown, they will be tried again: %s",
                len(texts),
                error,
            )

    async def show_round(
        self,
        done: Round,
        remapped: Sequence[Said],
        fresh: Sequence[str],
        versions: Sequence[RouterVersion],
    ) -> None:
        """The same, of what a round published: clients that hold a newly mapped attribute, new
        canonical attributes, and router versions."""
        try:
            await self._feed.put(
                {
                    **by_kind(await self.points_of_said(remapped)),
                    Collection.ATTRIBUTES: await self.points_of_attributes(fresh),
                    Collection.ROUTERS: await self.points_of_routers(versions),
                },
                done.number,
            )
        except Exception as error:
            log.warning(
                "the index lags: round %d not shown, it will be tried again: %s", done.number, error
            )

    async def take_texts(self, texts: Iterable[ClientText]) -> None:
        """New versions of clients' texts, one a client."""
        await self.take_said([said_of(text) for text in texts])

    async def take_said(self, texts: Sequence[Said]) -> None:
        """The same."""
        await self.take_points(await self.points_of_said(texts))

    async def take_points(self, points: Sequence[Point]) -> None:
        """Into the index and the view: committed texts' points."""
        for start in range(0, len(points), CLIENTS_A_CALL):
            part = points[start : start + CLIENTS_A_CALL]
            await self._feed.put(by_kind(part))
            await self.into_view(part)

    async def into_view(self, points: Sequence[Point]) -> None:
        """Clients' vectors into this process' view."""
        if points:
            await self._numbers.run(
                NumbersView.set_profiles,
                [int(point.key) for point in points],
                np.stack([point.vector for point in points]),
            )
        for point in points:
            self._shown.put(int(point.key), point.version)

    def changes_of_round(
        self, remapped: Sequence[Said], fresh: Sequence[str], versions: Sequence[RouterVersion]
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

    async def points_of(self, texts: Iterable[ClientText]) -> list[Point]:
        """What the index holds of these texts."""
        return await self.points_of_said([said_of(text) for text in texts])

    async def points_of_said(self, texts: Sequence[Said]) -> list[Point]:
        """The same: their lines embedded together, then summed in small parts, so that others get
        their turns on the loop."""
        points: list[Point] = []
        await self._lines.know(texts)
        for start in range(0, len(texts), TEXTS_A_PART):
            part = texts[start : start + TEXTS_A_PART]
            for text, vector in zip(part, await self._lines.of_texts(part), strict=True):
                points.append(
                    Point(
                        key=text.ref,
                        version=text.version,
                        vector=vector,
                        attributes=frozenset(in_canonical(text.attributes, self._canonical)),
                    )
                )
            await self._give_way()
        return points

    def forget(self, refs: Sequence[int], names: frozenset[str], unmapped: frozenset[str]) -> None:
        """Clients and attributes that are no more, and names that no longer stand for another one."""
        self._shown.forget(refs)
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
