"""A new epoch (RecNet 2.2.1): fitted embedder, routers' centres, and everything learned again.

All of it is computed apart from the live view and published in one commit. A crash before the
commit changes nothing; after it, the next start updates the index and runs the first round.
"""

import asyncio
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from propagation.model import Client, ClientKind, Epoch, LearnedBlock
from propagation.ports import Embedder, FittableEmbedder, GraphStore, Lease
from propagation.routing.attribute_extraction import own_attributes
from propagation.routing.initial_clustering import spherical_kmeans
from propagation.workflow.data_settings import DataSettings, data_settings_blob, embedder_blob
from propagation.workflow.index.embedding import content_text
from propagation.workflow.learn.checkpoints import take_checkpoint
from propagation.workflow.learn.item_embedding import apply_clients
from propagation.workflow.settings import WorkflowSettings
from propagation.workflow.views import NumbersOwner, NumbersView

PAGE = 5_000
ENTRIES_A_BLOCK = 2_048
OnStep = Callable[[str], None]


def ignore_step(_: str) -> None:
    """Do nothing: for callers that show no steps."""


async def catalogue_of(store: GraphStore) -> list[Client]:
    """Return all items that have text, by ref."""
    found: list[Client] = []
    after = -1
    while page := await store.scan_clients(ClientKind.ITEM, after, PAGE):
        found.extend(client for client in page if client.has_text)
        after = page[-1].ref
    return found


class NewEpoch:
    """Makes epochs from the catalogue and the log, while the caller keeps other activities out."""

    def __init__(self, store: GraphStore, embedder: Embedder, settings: WorkflowSettings) -> None:
        self._store = store
        self._embedder = embedder
        self._settings = settings

    async def open(self, lease: Lease, made_with: DataSettings, on_step: OnStep) -> Epoch:
        """Make the next epoch and publish it under the learner's lease."""
        current = await self._store.current_epoch()
        number = current.number + 1 if current else 1
        on_step("fitting the embedder on the catalogue")
        catalogue = await catalogue_of(self._store)
        embedder, state = await self._fitted([content_text(item) for item in catalogue])
        on_step("finding the routers' centres")
        view = await self._view(embedder, catalogue, number)
        on_step("learning all interactions again")
        await self._relearn(lease, view, embedder)
        if state is not None:
            await self._store.put_blob(embedder_blob(number), state, lease)
        await self._store.put_blob(data_settings_blob(number), made_with.blob, lease)
        epoch = Epoch(
            number=number,
            sequence=0,
            session_k=self._settings.session.k,
            taste_k=self._settings.taste.k,
            tau=self._settings.tau,
            embedder=embedder.name,
            era=number,
        )
        sequence = await self._store.open_epoch(lease, epoch, take_checkpoint(view, barrier=True))
        return epoch.model_copy(update={"sequence": sequence})

    async def _fitted(self, texts: list[str]) -> tuple[Embedder, bytes | None]:
        if not isinstance(self._embedder, FittableEmbedder):
            return self._embedder, None
        state = await asyncio.to_thread(self._embedder.fit, texts, self._settings.seed)
        return self._embedder.with_state(state), state

    async def _view(self, embedder: Embedder, catalogue: list[Client], number: int) -> NumbersView:
        """Find each bank's centres: k-means of the items' embeddings.

        Under `centres = "attributes"` (the preset `paper`) the taste bank's centres are k-means of
        the extracted attributes, as in RecNet 2.2.1.
        """
        seed = self._settings.seed
        items = await embedder.embed([content_text(item) for item in catalogue])
        tastes = (
            items
            if self._settings.centres == "items"
            else await embedder.embed(await self._attributes())
        )
        session = await asyncio.to_thread(spherical_kmeans, items, self._settings.session.k, seed)
        taste = await asyncio.to_thread(spherical_kmeans, tastes, self._settings.taste.k, seed + 1)
        return NumbersView(session, taste, seed, number, self._settings.limits)

    async def _attributes(self) -> list[str]:
        """Return the attributes extracted from every client's own text (eq. 1), each once."""
        refs = sorted(await self._store.text_versions())
        found: set[str] = set()
        for start in range(0, len(refs), PAGE):
            for text in (await self._store.load_texts(refs[start : start + PAGE])).values():
                found.update(own_attributes(text))
        return sorted(found)

    async def _relearn(self, lease: Lease, view: NumbersView, embedder: Embedder) -> None:
        """Learn the whole log again with the recorded negatives, and stage it."""
        numbers = NumbersOwner(view)
        through = await self._store.learned_through()
        try:
            while view.applied_through < through:
                first = view.applied_through == 0
                part = await self._store.read_log(
                    view.applied_through, min(ENTRIES_A_BLOCK, through - view.applied_through)
                )
                await apply_clients(self._store, numbers, embedder, part)
                negatives = await self._negatives(part.interactions.sequence)
                block = await numbers.run(
                    NumbersView.learn, part.interactions, part.through, negatives
                )
                await self._store.replace_learned(lease, [block], first=first)
        finally:
            numbers.close()

    async def _negatives(self, sequences: NDArray[np.int64]) -> NDArray[np.int32] | None:
        """Return the recorded negatives of learned interactions, [len, 4]."""
        if not len(sequences):
            return None
        blocks: list[LearnedBlock] = []
        after = int(sequences[0]) - 1
        while after < sequences[-1]:
            blocks.extend(await self._store.read_learned(after, 8))
            after = blocks[-1].through
        recorded = np.concatenate([block.sequence for block in blocks])
        return np.concatenate([block.negatives for block in blocks])[
            np.searchsorted(recorded, sequences)
        ]
