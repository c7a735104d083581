"""The names behind numbers: what an answer's lines, hops and members refer to, fetched together."""

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from propagation.model.clients.client import ClientKey, ClientKind, kind_of
from propagation.model.clients.profile import Line
from propagation.model.interactions.interaction import InteractionRow
from propagation.model.routers.router import RouterVersion
from propagation.ports.graph.graph_store import GraphStore
from propagation.v1 import propagation_pb2 as pb
from services.grpc.convert.vocabulary import KINDS
from services.security.roles import Caller

SENDERS = 50


@dataclass(frozen=True)
class Facts:
    """Keys and titles of clients by ref, interactions by sequence, messages by (router, version),
    for one caller. Users of events, and who brought attributes to a message, have no title here."""

    caller: Caller
    keys: Mapping[int, ClientKey]
    titles: Mapping[int, str]
    interactions: Mapping[int, InteractionRow]
    messages: Mapping[tuple[int, int], RouterVersion]

    def parties(self, refs: Iterable[int]) -> pb.Parties:
        """By id where the caller may know them, else how many."""
        known = sorted({ref for ref in refs if ref in self.keys})
        if not self.caller.sees_users and any(kind_of(ref) == ClientKind.USER for ref in known):
            return pb.Parties(count=len(known))
        parties = pb.Parties(clients=pb.Parties.Clients())
        for key in map(
            self.keys.__getitem__, known
        ):  # made in their place: half the time of made and copied
            parties.clients.keys.add(kind=KINDS[key.kind], id=key.id)
        return parties

    def title(self, ref: int) -> str:
        """ "" for a user whom the caller may not know."""
        known = self.caller.sees_users or kind_of(ref) == ClientKind.ITEM
        return self.titles.get(ref, "") if known else ""

    def said(self, ref: int) -> str:
        """A client as a person would say it: an item by title, a user by id where the caller may
        know it."""
        key = self.keys.get(ref)
        if key is None:
            return "a client that is gone"
        if key.kind == ClientKind.ITEM:
            return f"\N{LEFT DOUBLE QUOTATION MARK}{self.titles.get(ref) or key.id}\N{RIGHT DOUBLE QUOTATION MARK}"
        return f"user {key.id}" if self.caller.sees_users else "a user"


async def facts_of(
    store: GraphStore,
    caller: Caller,
    lines: Iterable[Line],
    refs: Iterable[int] = (),
    interactions: Iterable[InteractionRow] = (),
    messages: Iterable[RouterVersion] = (),
) -> Facts:
    """What these lines cite, and what is given."""
    sources = [source for line in lines for source in line.sources]
    events = {event.sequence: event for event in interactions}
    missing = sorted({source.sequence for source in sources if source.sequence} - events.keys())
    heard = {(message.router, message.version): message for message in messages}
    cited = {
        (source.router, source.version)
        for source in sources
        if source.router is not None and source.version
    }
    if missing:
        events |= {event.sequence: event for event in await store.interactions(missing)}
    if unheard := sorted(cited - heard.keys()):
        heard |= await store.messages(unheard, SENDERS)
    shown = {*refs, *(event.item for event in events.values())}
    named = sorted(
        {
            *shown,
            *(event.user for event in events.values()),
            *(ref for message in heard.values() for ref in senders(message)),
        }
    )
    keys, clients = await asyncio.gather(store.find_keys(named), store.get_clients(sorted(shown)))
    return Facts(
        caller,
        {ref: key for ref, key in zip(named, keys, strict=True) if key is not None},
        {client.ref: client.title for client in clients},
        events,
        heard,
    )


def senders(message: RouterVersion) -> list[int]:
    """Whose attributes the message carries, the first fifty."""
    return sorted(message.senders)[:SENDERS]
