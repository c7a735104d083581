"""Stage 0 of Algorithm 1 (RecNet 2.2.1): a new epoch.

A new epoch has a fitted embedder, the routers' centres, and numbers learned again from the whole
log. All of this is computed apart from the live view and published in one commit. A crash before
the commit changes nothing; after a crash behind it, the next start updates the index and runs the
first round.
"""

import asyncio
import contextlib
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from propagation.model import (
    I32,
    NEGATIVES,
    Client,
    DamagedNumbers,
    Epoch,
    LeaseHeld,
    LogSlice,
    normalize_name,
    split_into_batches,
)
from propagation.ports import Embedder, FittableEmbedder, GraphStore, Lease
from propagation.routing import list_own_attributes, run_spherical_kmeans
from propagation.workflow.concurrency import WAIT_SECONDS, Activity, Exclusion
from propagation.workflow.data_settings import (
    OpenData,
    build_data_settings_blob,
    build_embedder_blob,
)
from propagation.workflow.index import write_content_text
from propagation.workflow.index.maintenance import IndexMaintenance
from propagation.workflow.index.repair import OnProgress, ignore_progress
from propagation.workflow.learn import BLOCKS_A_READ, Learner, apply_clients, take_checkpoint
from propagation.workflow.reason.cold_start import ColdStart
from propagation.workflow.replica_sync import ReplicaSync
from propagation.workflow.rounds.round import PropagationRound
from propagation.workflow.settings import WorkflowSettings
from propagation.workflow.views import NO_RECORD, NumbersOwner, NumbersView, scan_items

PAGE = 5_000
ENTRIES_A_BLOCK = 2_048
OnStep = Callable[[str], None]
log = logging.getLogger(__name__)


async def build_catalogue(store: GraphStore) -> list[Client]:
    """Return all items that have text, sorted by ref."""
    return [item async for items in scan_items(store) for item in items if item.has_text]


@dataclass
class Stage0:
    """Bootstraps: fits the embedder, finds the routers' centres, and learns everything again."""

    store: GraphStore
    embedder: Embedder
    data: OpenData
    numbers: NumbersOwner
    learner: Learner
    index_maintenance: IndexMaintenance
    cold_start: ColdStart
    rounds: PropagationRound
    replica_sync: ReplicaSync
    settings: WorkflowSettings
    exclusion: Exclusion
    _next_count: int = 0

    async def run_first_if_due(self, *, wait_for_model: bool) -> None:
        """Bootstrap if nothing was bootstrapped yet and `bootstrap_items` items have text.

        Args:
            wait_for_model: Whether all clients are described first. If not, and a model describes
                them, the epoch opens with what the catalogue says of them.
        """
        async with self.exclusion.run(Activity.CHECK_BOOTSTRAP):
            if await self._is_due():
                if self.cold_start.reasoner.asks_model and not wait_for_model:
                    await self._open_beside_reasoning()
                else:
                    await self.run(first=True)

    async def run(self, on_step: OnStep = lambda step: None, *, first: bool) -> Epoch | None:
        """Open the next epoch and go live on it.

        Reads and recording go on meanwhile.

        Args:
            on_step: Called with a few words before each step.
            first: Whether to do nothing if another process was quicker and has opened an epoch.

        Returns:
            The epoch, or None if `first` is set and there was one already.

        Raises:
            LeaseLost: Another process keeps the learner's lease for too long.
        """
        async with self.exclusion.run(Activity.REASON):
            # New clients get no messages: the present routers are about to be replaced.
            described: int | None = None
            while described != 0:  # None: another process still describes them
                described = await self.cold_start.describe(welcome=False, wait_seconds=WAIT_SECONDS)
        async with self.exclusion.run(Activity.BOOTSTRAP):
            async with self.learner.hold_lease(synchronize=not self.data.outdated) as lease:
                if first and self.numbers.view.epoch:
                    return None
                epoch = await self._go_live(lease, on_step)
            on_step("embedding profiles, attributes and routers")
            await self.index_maintenance.reindex()
            log.info("epoch %d is open at sequence %d", epoch.number, epoch.sequence)
            self.replica_sync.note_embedder()
            if self.settings.propagate:
                on_step("writing the routers' first profiles")
                with contextlib.suppress(LeaseHeld):  # the round stays due
                    await self.rounds.run()
            return epoch

    async def _open_beside_reasoning(self) -> None:
        """Open the first epoch while clients are described and interactions are reasoned.

        A round under way is abandoned, and rounds that wait end without effect: the epoch replaces
        the routers, and numbers wait for no model.

        To reasoning it is as if another process had opened it. The index is made again by
        maintenance, and the first round is due as soon as enough clients are described.

        Raises:
            LeaseLost: Another process keeps the learner's lease for too long.
        """
        with self.rounds.give_way("the first epoch replaces its routers"):
            async with self.exclusion.run(Activity.OPEN_FIRST_EPOCH):
                async with self.learner.hold_lease(synchronize=not self.data.outdated) as lease:
                    if self.numbers.view.epoch:
                        return
                    self.index_maintenance.put_off(
                        "the vector index is made again for the first epoch, once the model has"
                        " answered the questions under way"
                    )
                    epoch = await self._go_live(lease, lambda step: None)
                await self.replica_sync.follow_embedder()
                log.info(
                    "epoch %d is open at sequence %d; %d clients are described later",
                    epoch.number,
                    epoch.sequence,
                    self.cold_start.outstanding,
                )

    async def open_index(self) -> None:
        """Make the index equal to the graph, at start.

        If the data is outdated, the index waits for the next epoch.
        """
        if self.data.outdated:
            self.index_maintenance.put_off("the vector index will be rebuilt with the next epoch")
        else:
            await self.index_maintenance.open()

    async def reindex(self, progress: OnProgress = ignore_progress) -> int:
        """Rebuild the index, and let the routing policy measure anew.

        Returns:
            How many points the index has.
        """
        async with self.exclusion.run(Activity.REINDEX):
            count = await self.index_maintenance.reindex(progress)
            await self.rounds.policy.measure()
            self.replica_sync.note_embedder()
            return count

    async def _is_due(self) -> bool:
        needed = self.settings.bootstrap_items
        changes = self.cold_start.queue.changes
        if (
            self.numbers.view.epoch
            or self.numbers.view.items < needed
            or changes < self._next_count
            or self.index_maintenance.problem  # the new epoch's index could not be made
        ):
            return False
        with_text = len(await build_catalogue(self.store))
        self._next_count = changes + needed - with_text  # counting reads the whole catalogue
        return with_text >= needed

    async def _go_live(self, lease: Lease, on_step: OnStep) -> Epoch:
        """Open the next epoch, and load its numbers."""
        self.learner.mark_ahead()
        epoch = await self._open_epoch(lease, on_step)
        await self.learner.reload()
        return epoch

    async def _open_epoch(self, lease: Lease, on_step: OnStep) -> Epoch:
        """Make the next epoch and publish it under the learner's lease."""
        current = await self.store.get_current_epoch()
        number = current.number + 1 if current else 1
        on_step("fitting the embedder on the catalogue")
        catalogue = await build_catalogue(self.store)
        embedder, state = await self._fit([write_content_text(item) for item in catalogue])
        on_step("finding the routers' centres")
        view = await self._create_view(embedder, catalogue, number)
        on_step("learning all interactions again")
        await self._relearn(lease, view, embedder)
        if state is not None:
            await self.store.put_blob(build_embedder_blob(number), state, lease)
        await self.store.put_blob(
            build_data_settings_blob(number), self.data.configured.blob, lease
        )
        epoch = Epoch(
            number=number,
            sequence=0,
            session_k=self.settings.session.k,
            taste_k=self.settings.taste.k,
            tau=self.settings.tau,
            embedder=embedder.name,
            era=number,
        )
        sequence = await self.store.open_epoch(lease, epoch, take_checkpoint(view, barrier=True))
        return epoch.model_copy(update={"sequence": sequence})

    async def _fit(self, texts: list[str]) -> tuple[Embedder, bytes | None]:
        if not isinstance(self.embedder, FittableEmbedder):
            return self.embedder, None
        state = await asyncio.to_thread(self.embedder.fit, texts, self.settings.seed)
        return self.embedder.with_state(state), state

    async def _create_view(
        self, embedder: Embedder, catalogue: list[Client], number: int
    ) -> NumbersView:
        """Create the epoch's view, with centres for both banks.

        The centres are k-means of the items' embeddings. Under `centres = "attributes"` (the preset
        `paper`) the taste bank's are k-means of the extracted attributes, as in RecNet 2.2.1.
        """
        seed = self.settings.seed
        items = await embedder.embed([write_content_text(item) for item in catalogue])
        tastes = (
            items
            if self.settings.centres == "items"
            else await embedder.embed(await self._list_attributes(catalogue))
        )
        if not len(tastes):  # nothing is described, and the catalogue lists no attributes
            tastes = items
        session = await asyncio.to_thread(
            run_spherical_kmeans, items, self.settings.session.k, seed
        )
        taste = await asyncio.to_thread(
            run_spherical_kmeans, tastes, self.settings.taste.k, seed + 1
        )
        return NumbersView(
            session,
            taste,
            seed,
            number,
            self.settings.limits,
            self.settings.ranker.factors,
        )

    async def _list_attributes(self, catalogue: Sequence[Client]) -> list[str]:
        """Return the attributes of all clients' own texts, each once.

        They were extracted by eq. 1. Items that are not described yet have those that the catalogue
        lists.
        """
        described = await self.store.get_text_versions()
        extracted = {
            name
            for batch in split_into_batches(sorted(described), PAGE)
            for text in (await self.store.load_texts(batch)).values()
            for name in list_own_attributes(text)
        }
        listed = {
            normalize_name(name)
            for item in catalogue
            if item.ref not in described
            for name in (*item.attributes, *item.categories)
        }
        return sorted((extracted | listed) - {""})

    async def _relearn(self, lease: Lease, view: NumbersView, embedder: Embedder) -> None:
        """Learn the whole log again with the recorded negatives; stage the blocks."""
        through = min(
            await self.store.get_learned_through(), await self.store.get_recorded_through()
        )
        with contextlib.closing(NumbersOwner(view)) as numbers:
            while view.applied_through < through:
                first = view.applied_through == 0
                part = await self.store.read_log(
                    view.applied_through, min(ENTRIES_A_BLOCK, through - view.applied_through)
                )
                await apply_clients(self.store, numbers, embedder, part)
                block = await numbers.run(
                    NumbersView.learn,
                    part.interactions,
                    part.through,
                    await self._read_recorded_negatives(view.applied_through, part),
                )
                await self.store.replace_learned(lease, [block], first=first)

    async def _read_recorded_negatives(self, after: int, part: LogSlice) -> I32:
        """Return the recorded negatives of learned interactions, [len, 4].

        They are NO_RECORD for an interaction whose block is damaged or missing.
        """
        sequences = part.interactions.sequence
        negatives = np.full((len(sequences), NEGATIVES), NO_RECORD, np.int32)
        while after < part.through:
            try:
                blocks = await self.store.read_learned(after, BLOCKS_A_READ)
            except DamagedNumbers as damage:
                after = damage.through
                continue
            for block in blocks:
                in_block = np.isin(sequences, block.sequence)
                places = np.searchsorted(block.sequence, sequences[in_block])
                negatives[in_block] = block.negatives[places]
            after = blocks[-1].through
        # Items that were removed since left places empty; the learner reads up to the first such.
        order = np.argsort(negatives < 0, axis=1, kind="stable")
        return np.take_along_axis(negatives, order, axis=1)
