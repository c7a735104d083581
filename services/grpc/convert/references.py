"""The clients, interactions and messages that an answer refers to, loaded together."""

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from propagation.model import ClientKey, ClientKind, InteractionRow, Line, RouterVersion, kind_of
from propagation.ports import GraphStore
from propagation.v1 import propagation_pb2 as pb
from services.grpc.convert.vocabulary import CLIENT_KINDS
from services.security.roles import Caller

SENDERS = 50


@dataclass(frozen=True)
class References:
    """Clients by ref, interactions by sequence, messages by (router, version), for one caller.

    Users of events and senders of messages have no title here.
    """

    caller: Caller
    keys: Mapping[int, ClientKey]
    titles: Mapping[int, str]
    interactions: Mapping[int, InteractionRow]
    messages: Mapping[tuple[int, int], RouterVersion]

    def parties(self, refs: Iterable[int]) -> pb.Parties:
        """Name clients by id if the caller may know them; otherwise count them."""
        known = sorted({ref for ref in refs if ref in self.keys})
        if not self.caller.sees_users and any(kind_of(ref) == ClientKind.USER for ref in known):
            return pb.Parties(count=len(known))
        parties = pb.Parties(clients=pb.Parties.Clients())
        for ref in known:  # adding in place takes half the time of making keys and copying them
            key = self.keys[ref]
            parties.clients.keys.add(kind=CLIENT_KINDS[key.kind], id=key.id)
        return parties

    def title(self, ref: int) -> str:
        """Return a client's title; empty for a user whom the caller may not know."""
        visible = self.caller.sees_users or kind_of(ref) == ClientKind.ITEM
        return self.titles.get(ref, "") if visible else ""

    def name(self, ref: int) -> str:
        """Name a client in a sentence: an item by title, a user by id if the caller may know it."""
        key = self.keys.get(ref)
        if key is None:
            return "a client that is gone"
        if key.kind == ClientKind.ITEM:
            return f"“{self.titles.get(ref) or key.id}”"
        return f"user {key.id}" if self.caller.sees_users else "a user"


async def load_references(
    store: GraphStore,
    caller: Caller,
    lines: Iterable[Line] = (),
    refs: Iterable[int] = (),
    interactions: Iterable[InteractionRow] = (),
    messages: Iterable[RouterVersion] = (),
) -> References:
    """Load everything that lines cite, and the clients of the interactions and messages given."""
    sources = [source for line in lines for source in line.sources]
    events = {event.sequence: event for event in interactions}
    missing = sorted({source.sequence for source in sources if source.sequence} - events.keys())
    if missing:
        events |= {event.sequence: event for event in await store.interactions(missing)}
    known = {(message.router, message.version): message for message in messages}
    cited = {
        (source.router, source.version)
        for source in sources
        if source.router is not None and source.version
    }
    if unknown := sorted(cited - known.keys()):
        known |= await store.messages(unknown, SENDERS)
    titled = {*refs, *(event.item for event in events.values())}
    named = sorted(
        {
            *titled,
            *(event.user for event in events.values()),
            *(ref for message in known.values() for ref in first_senders(message)),
        }
    )
    keys, clients = await asyncio.gather(store.find_keys(named), store.get_clients(sorted(titled)))
    return References(
        caller,
        {ref: key for ref, key in zip(named, keys, strict=True) if key is not None},
        {client.ref: client.title for client in clients},
        events,
        known,
    )


def first_senders(message: RouterVersion) -> list[int]:
    """List the first fifty clients whose attributes a message carries."""
    return sorted(message.senders)[:SENDERS]
