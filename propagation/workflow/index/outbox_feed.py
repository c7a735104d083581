"""Points on their way into the vector index.

They are written at once, or left in the graph's outbox.
"""

import asyncio
import logging
from collections.abc import Mapping, Sequence

from propagation.model import IndexUnavailable, LeaseHeld
from propagation.ports import Collection, IndexChange, IndexWriter, OutboxStore, Point

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
            round_: The round whose own changes they are; 0: of none.
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
        """Stop writing until maintenance has found the index again, and compared it."""
        if not self.problem:
            log.warning("%s; its changes wait in the outbox", error)
        self.problem = str(error)

    async def settle(self) -> None:
        """Drop from the outbox what was written."""
        written, self._written = self._written, []
        if written:
            await self._store.drop_changes(written)
