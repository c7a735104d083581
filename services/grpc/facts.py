"""The names behind numbers: what an answer's lines, hops and members refer to, fetched together."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from propagation.model.client import Client, ClientKind, kind_of
from propagation.model.interaction import InteractionRow
from propagation.model.profile import Line
from propagation.model.router import RouterVersion
from propagation.ports.graph import GraphStore
from propagation.v1 import propagation_pb2 as pb
from services.grpc.convert import key_to_proto
from services.grpc.roles import Caller

SENDERS = 50


@dataclass(frozen=True)
class Facts:
    """Clients by ref, interactions by sequence, messages by (router, version), for one caller."""

    caller: Caller
    clients: Mapping[int, Client]
    interactions: Mapping[int, InteractionRow]
    messages: Mapping[tuple[int, int], RouterVersion]

    def parties(self, refs: Iterable[int]) -> pb.Parties:
        """By id where the caller may know them, else how many."""
        known = sorted({ref for ref in refs if ref in self.clients})
        if self.caller.sees_users or all(kind_of(ref) == ClientKind.ITEM for ref in known):
            return pb.Parties(clients=pb.Parties.Clients(keys=[key_to_proto(self.clients[ref].key) for ref in known]))
        return pb.Parties(count=len(known))

    def title(self, ref: int) -> str:
        """"" for a user whom the caller may not know."""
        client = self.clients.get(ref)
        known = client is not None and (self.caller.sees_users or client.key.kind == ClientKind.ITEM)
        return client.title if client is not None and known else ""

    def said(self, ref: int) -> str:
        """A client as a person would say it: an item by title, a user by id where the caller may know it."""
        client = self.clients.get(ref)
        if client is None:
            return "a client that is gone"
        if client.key.kind == ClientKind.ITEM:
            return f"\N{LEFT DOUBLE QUOTATION MARK}{client.title or client.key.id}\N{RIGHT DOUBLE QUOTATION MARK}"
        return f"user {client.key.id}" if self.caller.sees_users else "a user"


async def facts_of(store: GraphStore, caller: Caller, lines: Iterable[Line], refs: Iterable[int] = (),
                   interactions: Iterable[InteractionRow] = (), messages: Iterable[RouterVersion] = ()) -> Facts:
    """What these lines cite, and what is given."""
    sources = [source for line in lines for source in line.sources]
    events = {event.sequence: event for event in interactions}
    missing = sorted({source.sequence for source in sources if source.sequence} - events.keys())
    heard = {(message.router, message.version): message for message in messages}
    cited = {(source.router, source.version) for source in sources if source.router is not None and source.version}
    if missing:
        events |= {event.sequence: event for event in await store.interactions(missing)}
    if unheard := sorted(cited - heard.keys()):
        heard |= await store.messages(unheard, SENDERS)
    wanted = {*refs, *(ref for event in events.values() for ref in (event.user, event.item)),
              *(ref for message in heard.values() for ref in senders(message))}
    clients = {client.ref: client for client in await store.get_clients(sorted(wanted))}
    return Facts(caller, clients, events, heard)


def senders(message: RouterVersion) -> list[int]:
    """Whose attributes the message carries, the first fifty."""
    return sorted(message.senders)[:SENDERS]
