"""Embedding of items' texts into the numbers.

A text is embedded when it is new, and again later if the embeddings endpoint refused it.
"""

import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from propagation.model import (
    Client,
    ClientKind,
    EntryKind,
    LogSlice,
    ReasonerFailed,
    compute_ref,
    get_kind,
    index_of,
    split_into_batches,
)
from propagation.ports import ClientStore, Embedder, FittableEmbedder
from propagation.workflow.index import write_attribute_text, write_content_text
from propagation.workflow.views import (
    Catalogue,
    NumbersOwner,
    NumbersView,
    list_erased_clients,
)

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
    """Add the clients of a part of the log to the numbers.

    Those that it erases are emptied.

    Their texts are read as they were at the end of the part, so that a replay of the same parts
    reads the same texts.

    Args:
        catalogue: Gets the items, too; None: only the numbers get them.
    """
    refs = [ref for entry in part.entries if entry.kind == EntryKind.CLIENTS for ref in entry.refs]
    users = [index_of(ref) + 1 for ref in refs if get_kind(ref) == ClientKind.USER]
    items = sorted({ref for ref in refs if get_kind(ref) == ClientKind.ITEM})
    if users:
        await numbers.run(NumbersView.add_users, max(users))
    for batch in split_into_batches(items, TEXTS_A_CALL):
        clients = await store.get_clients(batch, part.through)
        if catalogue is not None:
            catalogue.take(clients)
        await _embed_items(numbers, embedder, clients, only_refused=False)
        if catalogue is not None:
            catalogue.note_learned(clients)
    if erased := list_erased_clients(part.entries):
        await numbers.run(NumbersView.forget_profiles, erased)
        gone = [index_of(ref) for ref in erased if get_kind(ref) == ClientKind.ITEM]
        await numbers.run(NumbersView.erase_items, gone)


async def _embed_items(
    numbers: NumbersOwner, embedder: Embedder, clients: Sequence[Client], *, only_refused: bool
) -> int:
    """Embed items' texts into the numbers; return how many were set.

    Args:
        only_refused: Whether to set only items that got a vector now and whose row still has a
            drawn direction. The row of another item may have got a newer text's vector meanwhile.
    """
    content = await embedder.embed([write_content_text(client) for client in clients])
    attributes = await embedder.embed([write_attribute_text(client) for client in clients])

    def set_items(view: NumbersView) -> int:
        count = 0
        for place, client in enumerate(clients):
            row = index_of(client.ref)
            if not only_refused or (content[place].any() and _find_drawn_rows(view, row, row + 1)):
                view.set_item(row, content[place], attributes[place], not client.hidden)
                count += 1
        return count

    return await numbers.run(set_items)


@dataclass
class RefusedTexts:
    """Items whose text could not be embedded yet.

    In the numbers a drawn direction stands for such a text until it can be embedded. The items are
    found by that direction, so that a restart forgets none.
    """

    store: ClientStore
    embedder: Embedder
    numbers: NumbersOwner
    _due: float = field(default_factory=lambda: time.monotonic() + EVERY_SECONDS)

    async def step(self) -> int:
        """Try to embed all refused texts, if that is due.

        A fitted embedder refuses none.

        Returns:
            How many texts were embedded.
        """
        if isinstance(self.embedder, FittableEmbedder) or time.monotonic() < self._due:
            return 0
        self._due = time.monotonic() + EVERY_SECONDS
        try:
            return await self.retry()
        except ReasonerFailed as error:
            log.warning("texts that the embedder refused will be tried again later: %s", error)
            return 0

    async def retry(self) -> int:
        """Try to embed all refused texts now.

        Returns:
            How many texts were embedded.

        Raises:
            ReasonerFailed: The embedder does not answer.
        """
        mended = 0
        for start in range(0, self.numbers.view.items, ROWS_A_LOOK):
            refs = [
                compute_ref(ClientKind.ITEM, row)
                for row in await self.numbers.run(_find_drawn_rows, start, start + ROWS_A_LOOK)
            ]
            found = await self.store.get_clients(refs) if refs else []
            clients = [client for client in found if write_content_text(client)]
            for part in split_into_batches(clients, RETRIES_A_CALL):
                mended += await _embed_items(self.numbers, self.embedder, part, only_refused=True)
        return mended


def _find_drawn_rows(view: NumbersView, start: int, end: int) -> list[int]:
    """Return the rows of items whose content is a drawn direction."""
    nothing = np.zeros(view.state.content.shape[1], np.float32)
    return [
        row
        for row in range(start, min(end, view.items))
        if np.array_equal(view.state.content[row], view.get_direction(row, nothing))
    ]
