"""ForgetClient: nothing of a client is left but what others learned (DESIGN, "Guarantees")."""

from dataclasses import dataclass

from propagation.model.clients.client import Client, ClientKey
from propagation.model.errors import NotFound
from propagation.model.interactions.withdrawal import CitationSearch
from propagation.model.routers.router import sender_router
from propagation.ports.graph.graph_store import ForgettingGraph
from propagation.workflow.forget.text_changes import own_names
from propagation.workflow.forget.withdrawal import Leaving, Outcome, TakingBack


@dataclass(frozen=True)
class ErasureResult:
    """`client` as it was; `lines_dropped`: lines of others' current profiles that went with it;
    `said`: attributes of its own text."""

    client: Client
    sequence: int
    events_erased: int
    lines_dropped: int
    said: frozenset[str]
    outcome: Outcome


class Erasure:
    """Users and items alike."""

    def __init__(self, store: ForgettingGraph, taking_back: TakingBack) -> None:
        self._store = store
        self._taking_back = taking_back

    async def commit(self, key: ClientKey) -> ErasureResult:
        """Its id is free to start anew from here on. Raises NotFound, LeaseLost."""
        (ref,) = await self._store.find_refs([key])
        if ref is None:
            raise NotFound(key.kind.name.lower(), key.id)
        (client,) = await self._store.get_clients([ref])
        rows = await self._store.interactions_of_clients([ref])
        own = [
            stored.text
            for stored in await self._store.find_citing_texts([CitationSearch(ref, None)])
        ]
        said = own_names(client, own)
        names = said - await self._store.names_used_by_others(ref, said)
        outcome = await self._taking_back.withdraw(
            rows, Leaving(client, names, said, (sender_router(ref),))
        )
        return ErasureResult(
            client,
            outcome.done.sequence,
            outcome.done.interactions,
            outcome.changes.lines_dropped,
            said,
            outcome,
        )

    async def show(self, forgotten: ErasureResult) -> None:
        """In the vector index and in the view's profiles."""
        await self._taking_back.show(forgotten.outcome, forgotten.client, forgotten.said)

    async def wipe(self, forgotten: ErasureResult) -> None:
        """Raises StoreBusy where the files cannot be wiped now: the next start wipes them."""
        await self._store.wipe()
