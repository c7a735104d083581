"""Stage 0 of Algorithm 1 (RecNet 2.2.1): when it happens, how it goes live, and how a restart finds
it again."""

import logging
from collections.abc import Callable

from propagation.model.errors import LeaseHeld
from propagation.model.routers.epoch import Epoch
from propagation.ports.embedder import Embedder, FittableEmbedder
from propagation.ports.graph.graph_store import GraphStore
from propagation.ports.vector_index import VectorIndex
from propagation.routing.semantic_policy import SemanticPolicy
from propagation.workflow.bootstrap.new_epoch import NewEpoch, catalogue_of
from propagation.workflow.concurrency.leases import ROUND_LEASE, Leases
from propagation.workflow.data_settings import DataSettings, embedder_name, made_with_name
from propagation.workflow.index.maintenance import IndexMaintenance, OnProgress, no_progress
from propagation.workflow.index.vector_sync import VectorSync
from propagation.workflow.learn.learner import Learner
from propagation.workflow.rounds.policies import QuantileThreshold
from propagation.workflow.rounds.round import PropagationRound
from propagation.workflow.settings import WorkflowSettings
from propagation.workflow.views.numbers_owner import NumbersOwner
from propagation.workflow.views.numbers_view import NumbersView, seeded_directions

OnStep = Callable[[str], None]
log = logging.getLogger(__name__)


def ignore_step(_: str) -> None:
    """For callers that say nothing."""


def first_view(made_with: DataSettings, limits: tuple[float, float]) -> NumbersView:
    """Routers before bootstrap: seeded directions."""
    seed, dimension = made_with.seed, made_with.dimension
    return NumbersView(
        seeded_directions(made_with.session_k, dimension, seed),
        seeded_directions(made_with.taste_k, dimension, seed + 1),
        seed,
        epoch=0,
        limits=limits,
    )


class Stage0:
    """`made_with`: what the open data was made with; until it is opened, what the settings say.
    `anew`: numbers and index are of other settings than this process', so that they are not read,
    and made anew by the next epoch."""

    def __init__(
        self,
        store: GraphStore,
        embedder: Embedder,
        index: VectorIndex,
        numbers: NumbersOwner,
        learner: Learner,
        vectors: VectorSync,
        upkeep: IndexMaintenance,
        rounds: PropagationRound,
        settings: WorkflowSettings,
        wanted: DataSettings,
        leases: Leases,
    ) -> None:
        self._store = store
        self._embedder = embedder
        self._index = index
        self._numbers = numbers
        self._learner = learner
        self._vectors = vectors
        self._upkeep = upkeep
        self._rounds = rounds
        self._settings = settings
        self._wanted = wanted
        self._leases = leases
        self._new_epoch = NewEpoch(store, embedder, settings)
        self._look_after = 0
        self.anew = False
        self.made_with = wanted

    async def due(self, changed_clients: int) -> bool:
        """Whether `bootstrap_items` items have text and nothing was bootstrapped yet.
        `changed_clients`: how many client changes this process has seen; the catalogue is only
        counted again after enough of them."""
        needed = self._settings.bootstrap_items
        if (
            self._numbers.view.epoch
            or self._numbers.view.items < needed
            or changed_clients < self._look_after
        ):
            return False
        if self._upkeep.problem:  # the new epoch's index has to be made
            return False
        with_text = len(await catalogue_of(self._store))
        self._look_after = changed_clients + needed - with_text
        return with_text >= needed

    async def run(self, on_step: OnStep, *, first: bool) -> Epoch | None:
        """Open the next epoch and go live on it. The caller keeps learn, reason and rounds still
        meanwhile. `first`: None where there is one already, for another process was quicker. Raises
        LeaseLost where another process goes on learning."""
        async with self._learner.settled(abreast=not self.anew) as lease:
            if first and self._numbers.view.epoch:
                return None
            self._learner.changing()
            epoch = await self._new_epoch.open(lease, self._wanted, on_step)
            self._rounds.trigger.expect_first()
            self.made_with, self.anew = self._wanted, False
            await self._take_embedder(epoch.number)
            await self._learner.reload()
        on_step("embedding profiles, attributes and routers")
        await self._upkeep.reindex()
        log.info("epoch %d is open at sequence %d", epoch.number, epoch.sequence)
        return epoch

    async def restore(self, *, adopt: bool) -> None:
        """At start, before the view: check what the data was made with, and take the epoch's
        embedder. Raises IncompatibleSettings, unless told to `adopt` the new settings."""
        epoch = await self._store.current_epoch()
        era = epoch.era if epoch else 0
        blob = await self._store.get_blob(made_with_name(era))
        if blob is None or not await self._store.learned_through():
            await self._store.put_blob(made_with_name(era), self._wanted.blob)
            self.made_with = self._wanted
        else:
            self.made_with = DataSettings.of_blob(blob)
        self.anew = adopt and self.made_with != self._wanted
        if not adopt:
            self.made_with.check(self._wanted)
        if self.made_with.embedder == self._wanted.embedder:
            await self._take_embedder(era)

    async def open_index(self) -> None:
        """At start, after the view: the index as the graph has it. One that is to be of other
        settings waits for its epoch."""
        await self._vectors.load_canonical()
        if self.anew:
            self._upkeep.put_off("the vector index is made anew with the next epoch")
        else:
            await self._upkeep.open()

    async def reindex(self, progress: OnProgress = no_progress) -> int:
        """The index anew, and tau of eq. 4 with it where it is a quantile."""
        count = await self._upkeep.reindex(progress)
        policy = self._rounds.policy
        if isinstance(policy, SemanticPolicy) and isinstance(policy.threshold, QuantileThreshold):
            async with self._leases.hold(ROUND_LEASE) as lease:
                if lease is None:
                    raise LeaseHeld(ROUND_LEASE)
                await policy.threshold.fix()
        return count

    async def take_epoch(self, number: int) -> None:
        """The numbers go over to an epoch, that another process may have opened: so does the
        embedder. Raises IncompatibleSettings where it was opened under other settings than this
        process'."""
        era = next(
            (epoch.era for epoch in await self._store.epochs() if epoch.number == number), number
        )
        if blob := await self._store.get_blob(made_with_name(era)):
            self.made_with = DataSettings.of_blob(blob)
        if self.made_with.embedder == self._wanted.embedder:
            self.made_with.check(self._wanted)
            await self._take_embedder(era)

    async def _take_embedder(self, era: int) -> None:
        if era and isinstance(self._embedder, FittableEmbedder):
            self._embedder.restore(await self._store.get_blob(embedder_name(era)))
