"""Points on their way into the vector index: at once while it answers; else they wait in the
graph's outbox."""

import asyncio
import logging
from collections.abc import Mapping, Sequence

from propagation.model.errors import IndexUnavailable, LeaseHeld
from propagation.ports.graph.outbox import IndexChange, OutboxStore
from propagation.ports.vector_index import Collection, IndexWriter, Point

log = logging.getLogger(__name__)


class OutboxFeed:
    """`problem`: why the index is not written to now; empty while it is. The commits have put every
    change into the outbox: what is written here is taken out of it a little later (`settle`), what
    is not is carried over by upkeep."""

    def __init__(self, store: OutboxStore, index: IndexWriter) -> None:
        self._store = store
        self._index = index
        self._carried: list[IndexChange] = []
        self.problem = ""

    async def put(self, points: Mapping[Collection, Sequence[Point]], round_: int = 0) -> None:
        """Points of committed versions; `round_`: of a round's own changes. Collections at once, so
        that a store which groups its commits needs one."""
        if self.problem:
            return
        try:
            await asyncio.gather(
                *(self._index.upsert(collection, found) for collection, found in points.items())
            )
        except IndexUnavailable as error:
            self.failed(error)
        else:
            self._carried.extend(
                IndexChange(collection, point.key, point.version, round_)
                for collection, found in points.items()
                for point in found
            )

    def failed(self, error: IndexUnavailable | LeaseHeld) -> None:
        """Nothing is written until upkeep has found it again, and compared."""
        if not self.problem:
            log.warning("%s; its changes wait in the outbox", error)
        self.problem = str(error)

    async def settle(self) -> None:
        """Take out of the outbox what the index has."""
        carried, self._carried = self._carried, []
        if carried:
            await self._store.drop_changes(carried)
