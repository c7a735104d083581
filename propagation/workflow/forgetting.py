"""Retraction and erasure in a running process: while nothing else changes what they change, and with everything that this process
remembers brought up to date."""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass

from propagation.model.client import ClientKey, ClientKind, index_of
from propagation.model.errors import Unsupported
from propagation.ports.embedder import Embedder
from propagation.ports.graph import ForgettingGraph, GraphStore
from propagation.ports.vector_index import VectorIndex
from propagation.workflow.catalogue import Catalogue
from propagation.workflow.erasure import Erasure, Forgotten
from propagation.workflow.histories import routers_of_now
from propagation.workflow.learner import Learner
from propagation.workflow.numbers import Numbers
from propagation.workflow.retraction import Retracted, Retraction
from propagation.workflow.settings import WorkflowSettings
from propagation.workflow.taking_back import Outcome, TakingBack
from propagation.workflow.unlearned import Unlearned
from propagation.workflow.vectors import Vectors


@dataclass(frozen=True)
class Memory:
    """What a process remembers of texts and clients. `forget_texts`: drop those of these clients."""

    forget_texts: Callable[[Iterable[int]], None]
    catalogue: Catalogue
    unlearned: Unlearned


class Forgetting:
    """`still`: nothing in this process learns, reasons, merges or runs a round inside of it; reads and record go on."""

    def __init__(self, store: GraphStore, embedder: Embedder, numbers: Numbers, learner: Learner, vectors: Vectors,
                 index: VectorIndex, memory: Memory, settings: WorkflowSettings, holder: str,
                 still: Callable[[], AbstractAsyncContextManager[None]]) -> None:
        self._store = store if isinstance(store, ForgettingGraph) else None
        self._memory = memory
        self._still = still
        if self._store is not None:
            taking_back = TakingBack(self._store, embedder, numbers, learner, vectors, index, routers_of_now(store),
                                     settings.min_support, holder)
            self._retraction, self._erasure = Retraction(self._store, taking_back), Erasure(self._store, taking_back)

    @property
    def store(self) -> ForgettingGraph:
        """Raises Unsupported."""
        if self._store is None:
            raise Unsupported("this graph store cannot take anything back yet; the SQLite store can")
        return self._store

    def _check(self) -> None:
        """Raises Unsupported."""
        _ = self.store

    async def finish(self, reindex: Callable[[], Awaitable[object]]) -> None:
        """At start: what a process that stopped inside of it left: an index behind the graph, traces in the file."""
        if self._store is not None and await self._store.wiping_due():
            await reindex()
            await self._store.wipe(None)

    async def retract(self, event_ids: Sequence[str]) -> Retracted:
        """Take events back, with what they wrote. Raises LeaseLost, Unsupported."""
        self._check()
        async with self._still():
            retracted = await self._retraction.retract(event_ids)
            if retracted.outcome is not None:
                self._memory.forget_texts(_changed(retracted.outcome))
                self._memory.unlearned.passed(retracted.sequence)
                self._memory.unlearned.withdrawn(frozenset(row.sequence for row in retracted.interactions))
        return retracted

    async def forget(self, key: ClientKey) -> Forgotten:
        """Everything of a client goes; see docs/erasure.md. Raises NotFound, LeaseLost, Unsupported."""
        self._check()
        async with self._still():
            forgotten = await self._erasure.forget(key)
            ref = forgotten.client.ref
            self._memory.unlearned.passed(forgotten.sequence)
            self._memory.forget_texts([*_changed(forgotten.outcome), ref])
            if key.kind == ClientKind.ITEM:
                self._memory.catalogue.forget(index_of(ref))
            else:
                self._memory.unlearned.forget([key.id, index_of(ref)])
        return forgotten


def _changed(outcome: Outcome) -> list[int]:
    return [text.profile.ref for text in outcome.changes.next_texts]
