"""Stage 0 of Algorithm 1 (RecNet 2.2.1): when it runs, and how its epoch goes live."""

import contextlib
import logging

from propagation.model import Epoch, LeaseHeld
from propagation.ports import Embedder, GraphStore
from propagation.routing.semantic_policy import SemanticPolicy
from propagation.workflow.bootstrap.new_epoch import NewEpoch, OnStep, catalogue_of, ignore_step
from propagation.workflow.concurrency import ROUND_LEASE, Activity, Exclusion, Leases
from propagation.workflow.data_settings import OpenData
from propagation.workflow.index.maintenance import IndexMaintenance
from propagation.workflow.index.repair import OnProgress, no_progress
from propagation.workflow.learn.learner import Learner
from propagation.workflow.reason.cold_start import ColdStart
from propagation.workflow.replica_sync import ReplicaSync
from propagation.workflow.rounds.policies import QuantileThreshold
from propagation.workflow.rounds.round import PropagationRound
from propagation.workflow.settings import WorkflowSettings
from propagation.workflow.views import NumbersOwner

log = logging.getLogger(__name__)


class Stage0:
    """Bootstraps: fits the embedder, finds the routers' centres, and learns everything again."""

    def __init__(
        self,
        store: GraphStore,
        embedder: Embedder,
        data: OpenData,
        numbers: NumbersOwner,
        learner: Learner,
        upkeep: IndexMaintenance,
        cold_start: ColdStart,
        rounds: PropagationRound,
        replica_sync: ReplicaSync,
        settings: WorkflowSettings,
        leases: Leases,
        exclusion: Exclusion,
    ) -> None:
        self._store = store
        self._data = data
        self._numbers = numbers
        self._learner = learner
        self._upkeep = upkeep
        self._cold_start = cold_start
        self._rounds = rounds
        self._replica_sync = replica_sync
        self._settings = settings
        self._leases = leases
        self._exclusion = exclusion
        self._new_epoch = NewEpoch(store, embedder, settings)
        self._next_count = 0

    async def run_first_if_due(self) -> None:
        """Bootstrap if nothing was bootstrapped yet and `bootstrap_items` items have text."""
        async with self._exclusion.run(Activity.CHECK_BOOTSTRAP):
            if await self._is_due():
                await self.run(ignore_step, first=True)

    async def run(self, on_step: OnStep, *, first: bool) -> Epoch | None:
        """Open the next epoch and go live on it; reads and recording go on meanwhile.

        Args:
            on_step: Called with a few words before each step.
            first: Do nothing if there is an epoch already, from a process that was quicker.

        Returns:
            The epoch, or None if `first` and there was one.

        Raises:
            LeaseLost: Another process learns.
        """
        async with self._exclusion.run(Activity.REASON):
            # Clients are described, but not by the present routers, which are about to change.
            while await self._cold_start.describe(welcome=False):
                pass
        async with self._exclusion.run(Activity.BOOTSTRAP):
            async with self._learner.hold_lease(synchronize=not self._data.outdated) as lease:
                if first and self._numbers.view.epoch:
                    return None
                self._learner.mark_ahead()
                epoch = await self._new_epoch.open(lease, self._data.configured, on_step)
                self._rounds.trigger.expect_first()
                await self._data.begin_epoch(epoch.number)
                await self._learner.reload()
            on_step("embedding profiles, attributes and routers")
            await self._upkeep.reindex()
            log.info("epoch %d is open at sequence %d", epoch.number, epoch.sequence)
            self._replica_sync.note_embedder()
            if self._settings.propagate and self._rounds.policy.integrator is None:
                on_step("writing the routers' first profiles")
                with contextlib.suppress(LeaseHeld):  # the round stays due
                    await self._rounds.run()
            return epoch

    async def open_index(self) -> None:
        """Make the index equal to the graph, at start; an outdated one waits for its epoch."""
        if self._data.outdated:
            self._upkeep.put_off("the vector index is made anew with the next epoch")
        else:
            await self._upkeep.open()

    async def reindex(self, progress: OnProgress = no_progress) -> int:
        """Make the index anew, and tau of eq. 4 if it is a quantile; return how many points."""
        async with self._exclusion.run(Activity.REINDEX):
            count = await self._upkeep.reindex(progress)
            policy = self._rounds.policy
            if isinstance(policy, SemanticPolicy) and isinstance(
                policy.threshold, QuantileThreshold
            ):
                async with self._leases.require(ROUND_LEASE):
                    await policy.threshold.fix()
            self._replica_sync.note_embedder()
            return count

    async def _is_due(self) -> bool:
        needed = self._settings.bootstrap_items
        changes = self._cold_start.changes
        if (
            self._numbers.view.epoch
            or self._numbers.view.items < needed
            or changes < self._next_count
            or self._upkeep.problem  # the new epoch's index could not be made
        ):
            return False
        with_text = len(await catalogue_of(self._store))
        self._next_count = changes + needed - with_text  # counting reads the whole catalogue
        return with_text >= needed
