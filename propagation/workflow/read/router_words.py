"""The attributes that each router speaks of, as filter rules that name one are matched against
them."""

import time
from collections.abc import Mapping

from propagation.ports.graph.graph_store import GraphStore
from propagation.workflow.index.vector_sync import VectorSync
from propagation.workflow.views.numbers_owner import NumbersOwner

FRESH_SECONDS = 1.0


class RouterWords:
    """Of one process, read again after each round and epoch that it knows of, and after a second:
    forgetting changes them too."""

    def __init__(self, store: GraphStore, numbers: NumbersOwner, vectors: VectorSync) -> None:
        self._store = store
        self._numbers = numbers
        self._vectors = vectors
        self._words: Mapping[int, frozenset[str]] = {}
        self._read_at: tuple[int, int] | None = None
        self._read = 0.0

    async def of_routers(self) -> Mapping[int, frozenset[str]]:
        """By number, of those that have a text: the attributes of the newest message, and what is
        standing."""
        now = (self._numbers.view.epoch, self._vectors.canonical_round)
        if now != self._read_at or time.monotonic() - self._read > FRESH_SECONDS:
            began = time.monotonic()
            versions = await self._store.router_versions(
                range(self._numbers.view.state.taste.mass.shape[1])
            )
            self._words = {
                version.router: frozenset(
                    (*version.attributes, *(name for name, _ in version.standing))
                )
                for version in versions
            }
            self._read_at, self._read = now, began
        return self._words
