"""The vector index kept in step with the graph, and the view's profile vectors with it. The index is derived: everything
in it can be made again from the graph."""

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from propagation.model.client import ClientKind, kind_of
from propagation.model.router import RouterVersion
from propagation.model.text import ClientText
from propagation.ports.embedder import Embedder
from propagation.ports.graph import GraphStore
from propagation.ports.vector_index import Collection, Point, VectorIndex
from propagation.routing.canonical import in_canonical
from propagation.routing.perception import own_attributes
from propagation.workflow.numbers import Numbers
from propagation.workflow.recent import Recent
from propagation.workflow.view import NumbersView

LINES_KEPT = 65_536
SHOWN_KEPT = 65_536
CLIENTS_A_CALL = 2_000
TEXTS_A_PART = 32
ATTRIBUTE_VERSION = 1
UNWRITTEN = 0
KINDS = ((Collection.USERS, ClientKind.USER), (Collection.ITEMS, ClientKind.ITEM))
log = logging.getLogger(__name__)
OnProgress = Callable[[int, int], None]


def no_progress(done: int, total: int) -> None:
    """For callers that show nothing."""


class LineVectors:
    """Embeds the lines of profiles, and keeps the vectors of the last 65,536: one interaction changes one line in twelve."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._kept: OrderedDict[str, NDArray[np.float32]] = OrderedDict()
        self._model = embedder.name

    async def of_texts(self, texts: Sequence[ClientText]) -> NDArray[np.float32]:
        """[len, D]: each profile's lines, summed by weight and normalised; zeros for an empty profile."""
        await self._take({line.text for text in texts for line in text.profile.lines})
        out = np.zeros((len(texts), self._embedder.dimension), np.float32)
        for row, text in enumerate(texts):
            for line in text.profile.lines:
                out[row] += np.float32(line.weight) * self._kept[line.text]
        norms = np.linalg.norm(out, axis=1, keepdims=True)
        out /= np.where(norms > 0, norms, 1)
        while len(self._kept) > LINES_KEPT:
            self._kept.popitem(last=False)
        return out

    async def _take(self, lines: set[str]) -> None:
        if self._model != self._embedder.name:
            self._kept.clear()
            self._model = self._embedder.name
        new = sorted(line for line in lines if line not in self._kept)  # a set less a view walks the whole view
        for line in lines.difference(new):
            self._kept.move_to_end(line)
        if new:
            self._kept.update(zip(new, await self._embedder.embed(new), strict=True))


class Vectors:
    """Every writer of texts, attributes and routers says here what it committed."""

    def __init__(self, store: GraphStore, embedder: Embedder, index: VectorIndex, numbers: Numbers) -> None:
        self._store = store
        self._embedder = embedder
        self._index = index
        self._numbers = numbers
        self._lines = LineVectors(embedder)
        self._canonical: dict[str, str] = {}
        self._named_through = 0
        self._shown: Recent[int, int] = Recent(SHOWN_KEPT)
        self._owed_texts: set[int] = set()
        self._owed_attributes: set[str] = set()
        self._owed_routers: set[int] = set()

    def has_shown(self, ref: int, version: int) -> bool:
        """Whether this process' view has a client's text of this version, or a later one."""
        return self._shown.find((ref,)).get(ref, 0) >= version

    async def see(self, texts: Iterable[ClientText]) -> None:
        """What another process committed, into this one's view, unless it has newer ones by now; that process has it put into
        the index."""
        points = await self.points_of(texts)
        shown = self._shown.find([int(point.key) for point in points])
        points = [point for point in points if shown.get(int(point.key), 0) <= point.version]
        if points:
            await self._into_view(points)

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
    def canonical(self) -> dict[str, str]:
        """Attributes that were mapped to another one, and to which."""
        return self._canonical

    @property
    def owes(self) -> bool:
        """Whether something is committed and not shown."""
        return bool(self._owed_texts or self._owed_attributes or self._owed_routers)

    async def load(self) -> None:
        """What start-up needs in memory: the mapped attributes."""
        last = await self._store.last_round()
        self._canonical = {attribute.name: attribute.canonical for attribute in await self._store.all_attributes()
                           if attribute.canonical is not None}
        self._named_through = last.number if last else 0

    async def show(self, texts: Sequence[ClientText], points: Sequence[Point] | None = None) -> None:
        """Committed texts, into the index and the view (`points`: what was worked out of them already). The graph is right
        without them: what fails here is owed, and `settle` tries it again."""
        try:
            await self.take_points(await self.points_of(texts) if points is None else points)
        except Exception as error:
            self.owe([text.profile.ref for text in texts], error)

    async def show_round(self, attributes: Sequence[str], versions: Sequence[RouterVersion]) -> None:
        """The same, of a round that was published: new canonical attributes, and router versions."""
        try:
            await self.take_attributes(attributes)
            await self.take_routers(versions)
        except Exception as error:
            self._owed_attributes.update(attributes)
            self._owed_routers.update(version.router for version in versions)
            log.warning("the index lags: round not shown, it will be tried again: %s", error)

    def owe(self, refs: Sequence[int], error: Exception) -> None:
        """These clients' committed texts could not be shown."""
        self._owed_texts.update(refs)
        log.warning("the index lags: %d texts not shown, they will be tried again: %s", len(refs), error)

    async def settle(self) -> int:
        """Show what is owed, as it stands now; how many points that were. What it raises, it raises with all still owed."""
        texts, attributes, routers = sorted(self._owed_texts), sorted(self._owed_attributes), sorted(self._owed_routers)
        if texts:
            await self.take_texts((await self._store.load_texts(texts)).values())
            self._owed_texts.difference_update(texts)
        if attributes:
            await self.take_attributes(attributes)
            self._owed_attributes.difference_update(attributes)
        if routers:
            await self.take_routers(await self._store.router_versions(routers))
            self._owed_routers.difference_update(routers)
        return len(texts) + len(attributes) + len(routers)

    async def take_texts(self, texts: Iterable[ClientText]) -> None:
        """New versions of clients' texts, one a client."""
        await self.take_points(await self.points_of(texts))

    async def points_of(self, texts: Iterable[ClientText]) -> list[Point]:
        """What the index would hold of these texts; in small parts, so that others get their turns on the loop."""
        texts = list(texts)
        points: list[Point] = []
        for start in range(0, len(texts), TEXTS_A_PART):
            part = texts[start : start + TEXTS_A_PART]
            for text, vector in zip(part, await self._lines.of_texts(part), strict=True):
                points.append(Point(key=text.profile.ref, version=text.profile.version, vector=vector,
                                    attributes=frozenset(in_canonical(own_attributes(text), self._canonical))))
            await asyncio.sleep(0)
        return points

    async def take_points(self, points: Sequence[Point]) -> None:
        """Into the index and the view: committed texts' points. Users and items at once, so that a store which groups its
        commits needs one."""
        for start in range(0, len(points), CLIENTS_A_CALL):
            part = points[start : start + CLIENTS_A_CALL]
            await asyncio.gather(*(self._index.upsert(collection, [point for point in part if kind_of(int(point.key)) == kind])
                                   for collection, kind in KINDS))
            await self._into_view(part)

    async def _into_view(self, points: Sequence[Point]) -> None:
        await self._numbers.run(NumbersView.set_profiles, [int(point.key) for point in points],
                                np.stack([point.vector for point in points]))
        for point in points:
            self._shown.put(int(point.key), point.version)

    async def take_attributes(self, names: Sequence[str]) -> None:
        """New canonical attributes."""
        vectors = await self._embedder.embed(names)
        await self._index.upsert(Collection.ATTRIBUTES, [
            Point(key=name, version=ATTRIBUTE_VERSION, vector=vector) for name, vector in zip(names, vectors, strict=True)])

    async def take_routers(self, versions: Sequence[RouterVersion]) -> None:
        """New versions of taste routers (a point-to-point sender is none)."""
        routers = frozenset(self.routers)
        kept = [version for version in versions if version.router in routers]
        vectors = await self._embedder.embed([version.text for version in kept])
        await self._index.upsert(Collection.ROUTERS, [
            Point(key=version.router, version=version.version, vector=vector, attributes=frozenset(version.attributes))
            for version, vector in zip(kept, vectors, strict=True)])

    @property
    def routers(self) -> list[int]:
        """The taste routers that there are, by number."""
        return self._numbers.view.routers

    async def follow_routers(self) -> int:
        """After an evolution: the routers' points as the graph has them now; how many changed."""
        return await self._mend_routers()

    async def mend(self, progress: OnProgress = no_progress) -> int:
        """Find by version what differs from the graph, and make it good; how many points that were."""
        mended = await self._mend_attributes() + await self._mend_routers()
        stored = await self._store.text_versions()
        kept: dict[int | str, int] = {}
        for collection in (Collection.USERS, Collection.ITEMS):
            found = await self._index.versions(collection)
            gone = [key for key in found if key not in stored]
            if gone:
                await self._index.delete(collection, gone)
                mended += len(gone)
            kept |= found
        stale = sorted(ref for ref, version in stored.items() if kept.get(ref) != version)
        for start in range(0, len(stale), CLIENTS_A_CALL):
            part = stale[start : start + CLIENTS_A_CALL]
            await self._retake(part, kept)
            progress(start + len(part), len(stale))
        return mended + len(stale)

    async def reindex(self, progress: OnProgress = no_progress) -> int:
        """Empty the index, and make all of it again from the graph; how many points it has."""
        await self._index.drop(self._embedder.name, self._embedder.dimension)
        return await self.mend(progress)

    async def fill_view(self) -> None:
        """Give the view every profile vector that the index holds."""
        for collection in (Collection.USERS, Collection.ITEMS):
            keys = sorted(await self._index.versions(collection), key=int)
            for start in range(0, len(keys), CLIENTS_A_CALL):
                found = await self._index.vectors(collection, keys[start : start + CLIENTS_A_CALL])
                await self._numbers.run(NumbersView.set_profiles, [int(key) for key in found], np.stack(list(found.values())))

    async def _retake(self, refs: Sequence[int], kept: dict[int | str, int]) -> None:
        """Points newer than the graph's text are dropped first: an index never goes back by itself."""
        texts = await self._store.load_texts(refs)
        for collection, kind in ((Collection.USERS, ClientKind.USER), (Collection.ITEMS, ClientKind.ITEM)):
            ahead = [ref for ref in refs if kind_of(ref) == kind and kept.get(ref, 0) > texts[ref].profile.version]
            if ahead:
                await self._index.delete(collection, ahead)
        await self.take_texts(texts.values())

    async def _mend_attributes(self) -> int:
        stored = {attribute.name for attribute in await self._store.all_attributes() if attribute.canonical is None}
        kept = await self._index.versions(Collection.ATTRIBUTES)
        missing, gone = sorted(stored - kept.keys()), [key for key in kept if key not in stored]
        if gone:
            await self._index.delete(Collection.ATTRIBUTES, gone)
        await self.take_attributes(missing)
        return len(missing) + len(gone)

    async def _mend_routers(self) -> int:
        """A router without a profile yet stands at its centre, as version 0; a retired one is not there."""
        centres, routers = self._numbers.view.state.taste.centres, self.routers
        versions = {version.router: version for version in await self._store.router_versions(routers)}
        stored = {router: versions[router].version if router in versions else UNWRITTEN for router in routers}
        kept = await self._index.versions(Collection.ROUTERS)
        stale = [router for router in stored if kept.get(router) != stored[router]]
        gone = [key for key, version in kept.items() if version > stored.get(int(key), -1)]
        if gone:
            await self._index.delete(Collection.ROUTERS, gone)
        await self._index.upsert(Collection.ROUTERS, [
            Point(key=router, version=UNWRITTEN, vector=centres[router]) for router in stale if router not in versions])
        await self.take_routers([versions[router] for router in stale if router in versions])
        return len(stale)
