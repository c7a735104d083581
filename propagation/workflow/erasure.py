"""ForgetClient: nothing of a client is left but what others learned (DESIGN, "Guarantees")."""

from dataclasses import dataclass

from propagation.model.client import Client, ClientKey
from propagation.model.errors import NotFound
from propagation.model.withdrawal import Trail
from propagation.ports.graph import ForgettingGraph
from propagation.routing.point_to_point import sender_router
from propagation.workflow.taking_back import Leaving, Outcome, TakingBack
from propagation.workflow.withdrawing import own_names


@dataclass(frozen=True)
class Forgotten:
    """`client` as it was; `lines_dropped`: lines of others' current profiles that went with it."""

    client: Client
    sequence: int
    events_erased: int
    lines_dropped: int
    outcome: Outcome


class Erasure:
    """Users and items alike."""

    def __init__(self, store: ForgettingGraph, taking_back: TakingBack) -> None:
        self._store = store
        self._taking_back = taking_back

    async def forget(self, key: ClientKey) -> Forgotten:
        """Its id is free to start anew when this returns. Raises NotFound, LeaseLost; StoreBusy where the files could not be wiped
        (the client is forgotten then, and the next start wipes them)."""
        (ref,) = await self._store.find_refs([key])
        if ref is None:
            raise NotFound(key.kind.name.lower(), key.id)
        (client,) = await self._store.get_clients([ref])
        rows = await self._store.all_interactions([ref])
        own = [stored.text for stored in await self._store.texts_citing([Trail(ref, None)])]
        said = own_names(client, own)
        names = said - await self._store.said_by_others(ref, said)
        outcome = await self._taking_back.take_back(rows, Leaving(client, names, said, (sender_router(ref),)))
        await self._taking_back.show(outcome, client, said)
        await self._store.wipe(client)
        return Forgotten(client, outcome.done.sequence, outcome.done.interactions, outcome.changes.lines_dropped, outcome)
