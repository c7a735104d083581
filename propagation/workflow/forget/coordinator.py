"""Retraction and erasure in a running process: while nothing else changes what they change, and
with everything that this process remembers brought up to date."""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass

from propagation.model.clients.client import ClientKey, ClientKind, index_of, kind_of
from propagation.model.errors import Unsupported
from propagation.ports.embedder import Embedder
from propagation.ports.graph.graph_store import ForgettingGraph, GraphStore
from propagation.workflow.concurrency.leases import Leases
from propagation.workflow.forget.erasure import Erasure, ErasureResult
from propagation.workflow.forget.retraction import Retraction, RetractionResult
from propagation.workflow.forget.withdrawal import Outcome, TakingBack
from propagation.workflow.index.maintenance import IndexMaintenance
from propagation.workflow.index.vector_sync import VectorSync
from propagation.workflow.learn.learner import Learner
from propagation.workflow.settings import WorkflowSettings
from propagation.workflow.views.catalogue import Catalogue
from propagation.workflow.views.numbers_owner import NumbersOwner
from propagation.workflow.views.pending_events import PendingEvents


@dataclass(frozen=True)
class Memory:
    """What a process remembers of texts and clients. `forget_texts`: drop those of these clients."""

    forget_texts: Callable[[Iterable[int]], None]
    catalogue: Catalogue
    unlearned: PendingEvents


class Forgetting:
    """`still`: nothing in this process learns, reasons, merges or runs a round inside of it; reads
    and record go on."""

    def __init__(
        self,
        store: GraphStore,
        embedder: Embedder,
        numbers: NumbersOwner,
        learner: Learner,
        vectors: VectorSync,
        upkeep: IndexMaintenance,
        memory: Memory,
        settings: WorkflowSettings,
        leases: Leases,
        still: Callable[[], AbstractAsyncContextManager[None]],
    ) -> None:
        self._store = store if isinstance(store, ForgettingGraph) else None
        self._memory = memory
        self._still = still
        self._erasing = asyncio.Lock()
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
        async with self._still():
            retracted = await self._retraction.commit(event_ids)
            if retracted.outcome is not None:
                self._memory.forget_texts(_changed(retracted.outcome))
                self._memory.unlearned.passed(retracted.sequence)
                self._memory.unlearned.withdrawn(
                    frozenset(row.sequence for row in retracted.interactions)
                )
                await self._retraction.show(retracted.outcome)
        return retracted

    async def forget(self, key: ClientKey) -> ErasureResult:
        """Everything of a client goes; see docs/erasure.md. Raises NotFound, LeaseLost,
        Unsupported; StoreBusy where the files could not be wiped (the client is forgotten then, and
        the next start wipes them)."""
        self._check()
        async with self._erasing:
            async with self._still():
                forgotten = await self._erasure.commit(key)
                self._leaves(forgotten)
                await self._erasure.show(forgotten)
            await self._erasure.wipe(forgotten)  # others learn and reason again meanwhile
        return forgotten

    def _leaves(self, forgotten: ErasureResult) -> None:
        self._memory.unlearned.passed(forgotten.sequence)
        self._memory.forget_texts(_changed(forgotten.outcome))
        if forgotten.client.key.kind == ClientKind.USER:
            self._memory.unlearned.forget([forgotten.client.key.id])
        self.left(forgotten.client.ref)

    def left(self, ref: int) -> None:
        """A client is no more, whichever process forgot it."""
        self._memory.forget_texts([ref])
        if kind_of(ref) == ClientKind.ITEM:
            self._memory.catalogue.forget(index_of(ref))
        else:
            self._memory.unlearned.forget([index_of(ref)])


def _changed(outcome: Outcome) -> list[int]:
    return [text.profile.ref for text in outcome.changes.next_texts]
