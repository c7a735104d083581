"""Items' texts into the numbers: new ones, and those that the embeddings endpoint refused."""

import logging
import time
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from propagation.model import (
    Client,
    ClientKind,
    EntryKind,
    LogSlice,
    ReasonerFailed,
    index_of,
    kind_of,
    ref_of,
)
from propagation.ports import ClientStore, Embedder, FittableEmbedder
from propagation.workflow.index.embedding import attribute_text, content_text
from propagation.workflow.views import Catalogue, NumbersOwner, NumbersView

EVERY_SECONDS = 1_000.0
TEXTS_A_CALL = 2_000
ROWS_A_LOOK, RETRIES_A_CALL = 1_000, 64
log = logging.getLogger(__name__)


async def apply_clients(
    store: ClientStore,
    numbers: NumbersOwner,
    embedder: Embedder,
    part: LogSlice,
    catalogue: Catalogue | None = None,
) -> None:
    """Add the clients of a part of the log to the numbers, and apply their new texts.

    Texts are read as they were at the end of the part, so that a replay of the same parts reads
    the same.
    """
    refs = [ref for entry in part.entries if entry.kind == EntryKind.CLIENTS for ref in entry.refs]
    users = [index_of(ref) + 1 for ref in refs if kind_of(ref) == ClientKind.USER]
    items = sorted({ref for ref in refs if kind_of(ref) == ClientKind.ITEM})
    if users:
        await numbers.run(NumbersView.add_users, max(users))
    for start in range(0, len(items), TEXTS_A_CALL):
        clients = await store.get_clients(items[start : start + TEXTS_A_CALL], part.through)
        if catalogue is not None:
            catalogue.take(clients)
        content = await embedder.embed([content_text(client) for client in clients])
        attributes = await embedder.embed([attribute_text(client) for client in clients])
        await numbers.run(_set_items, clients, content, attributes)


def _set_items(
    view: NumbersView,
    clients: Sequence[Client],
    content: NDArray[np.float32],
    attributes: NDArray[np.float32],
) -> None:
    for row, client in enumerate(clients):
        view.set_item(index_of(client.ref), content[row], attributes[row], not client.hidden)


class RefusedTexts:
    """Items for whose text a drawn direction stands until it can be embedded.

    They are found in the numbers, so that a restart changes nothing.
    """

    def __init__(
        self,
        store: ClientStore,
        embedder: Embedder,
        numbers: NumbersOwner,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._store = store
        self._embedder = embedder
        self._numbers = numbers
        self._clock = clock
        self._due = clock() + EVERY_SECONDS

    async def step(self) -> int:
        """Try all of them if that is due; return how many were embedded.

        A fitted embedder refuses nothing.
        """
        if isinstance(self._embedder, FittableEmbedder) or self._clock() < self._due:
            return 0
        self._due = self._clock() + EVERY_SECONDS
        try:
            return await self.again()
        except ReasonerFailed as error:
            log.warning("refused texts are embedded later: %s", error)
            return 0

    async def again(self) -> int:
        """Try all of them now; return how many were embedded. Raises ReasonerFailed."""
        mended = 0
        for start in range(0, self._numbers.view.items, ROWS_A_LOOK):
            rows = await self._numbers.run(_drawn, start, start + ROWS_A_LOOK)
            refs = [ref_of(ClientKind.ITEM, row) for row in rows]
            clients = (
                [client for client in await self._store.get_clients(refs) if content_text(client)]
                if refs
                else []
            )
            for place in range(0, len(clients), RETRIES_A_CALL):
                part = clients[place : place + RETRIES_A_CALL]
                content = await self._embedder.embed([content_text(client) for client in part])
                attributes = await self._embedder.embed([attribute_text(client) for client in part])
                mended += await self._numbers.run(_mend, part, content, attributes)
        return mended


def _drawn(view: NumbersView, start: int, end: int) -> list[int]:
    """Return the rows of items for whose text a drawn direction stands."""
    nothing = np.zeros(view.state.content.shape[1], np.float32)
    return [
        row
        for row in range(start, min(end, view.items))
        if np.array_equal(view.state.content[row], view.direction_of(row, nothing))
    ]


def _mend(
    view: NumbersView,
    clients: Sequence[Client],
    content: NDArray[np.float32],
    attributes: NDArray[np.float32],
) -> int:
    """Set the vectors of items that still have none: their text may have changed meanwhile."""
    mended = 0
    for place, client in enumerate(clients):
        row = index_of(client.ref)
        if content[place].any() and _drawn(view, row, row + 1):
            view.set_item(row, content[place], attributes[place], not client.hidden)
            mended += 1
    return mended
