"""Retraction and erasure in a running process: while nothing else changes what they change, and
with everything that this process remembers brought up to date."""

from collections.abc import Sequence

from propagation.model.clients.client import ClientKey, ClientKind
from propagation.model.errors import Unsupported
from propagation.ports.embedder import Embedder
from propagation.ports.graph.graph_store import ForgettingGraph, GraphStore
from propagation.workflow.concurrency.exclusion import Activity, Exclusion
from propagation.workflow.concurrency.leases import Leases
from propagation.workflow.forget.erasure import Erasure, ErasureResult
from propagation.workflow.forget.retraction import Retraction, RetractionResult
from propagation.workflow.forget.withdrawal import Outcome, TakingBack
from propagation.workflow.index.maintenance import IndexMaintenance
from propagation.workflow.index.vector_sync import VectorSync
from propagation.workflow.learn.learner import Learner
from propagation.workflow.settings import WorkflowSettings
from propagation.workflow.views.client_memory import ClientMemory
from propagation.workflow.views.numbers_owner import NumbersOwner


class Forgetting:
    """Runs one retraction or erasure at a time, while no other activity changes the same data."""

    def __init__(
        self,
        store: GraphStore,
        embedder: Embedder,
        numbers: NumbersOwner,
        learner: Learner,
        vectors: VectorSync,
        upkeep: IndexMaintenance,
        memory: ClientMemory,
        settings: WorkflowSettings,
        leases: Leases,
        exclusion: Exclusion,
    ) -> None:
        self._store = store if isinstance(store, ForgettingGraph) else None
        self._memory = memory
        self._exclusion = exclusion
        if self._store is not None:
            taking_back = TakingBack(
                self._store,
                embedder,
                numbers,
                learner,
                vectors,
                upkeep,
                settings.min_support,
                leases,
            )
            self._retraction, self._erasure = (
                Retraction(self._store, taking_back),
                Erasure(self._store, taking_back),
            )

    @property
    def store(self) -> ForgettingGraph:
        """Raises Unsupported."""
        if self._store is None:
            raise Unsupported(
                "this graph store cannot take anything back yet; the SQLite store can"
            )
        return self._store

    def _check(self) -> None:
        """Raises Unsupported."""
        _ = self.store

    async def finish(self) -> None:
        """At start, after the index was compared with the graph: traces in the file, where a
        process stopped before it had wiped them."""
        if self._store is not None and await self._store.wiping_due():
            await self._store.wipe()

    async def retract(self, event_ids: Sequence[str]) -> RetractionResult:
        """Take events back, with what they wrote. Raises LeaseLost, Unsupported."""
        self._check()
        async with self._exclusion.run(Activity.WITHDRAW):
            retracted = await self._retraction.commit(event_ids)
            if retracted.outcome is not None:
                self._memory.forget_texts(_changed(retracted.outcome))
                self._memory.pending_events.passed(retracted.sequence)
                self._memory.pending_events.withdrawn(
                    frozenset(row.sequence for row in retracted.interactions)
                )
                await self._retraction.show(retracted.outcome)
        return retracted

    async def forget(self, key: ClientKey) -> ErasureResult:
        """Everything of a client goes; see docs/erasure.md. Raises NotFound, LeaseLost,
        Unsupported; StoreBusy where the files could not be wiped (the client is forgotten then, and
        the next start wipes them)."""
        self._check()
        async with self._exclusion.run(Activity.ERASE):
            async with self._exclusion.run(Activity.WITHDRAW):
                forgotten = await self._erasure.commit(key)
                self._leaves(forgotten)
                await self._erasure.show(forgotten)
            await self._erasure.wipe(forgotten)  # others learn and reason again meanwhile
        return forgotten

    def _leaves(self, forgotten: ErasureResult) -> None:
        self._memory.pending_events.passed(forgotten.sequence)
        self._memory.forget_texts(_changed(forgotten.outcome))
        if forgotten.client.key.kind == ClientKind.USER:
            self._memory.pending_events.forget([forgotten.client.key.id])
        self._memory.forget_client(forgotten.client.ref)


def _changed(outcome: Outcome) -> list[int]:
    return [text.profile.ref for text in outcome.changes.next_texts]
