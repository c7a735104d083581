"""Visibility of clients, lines, events and messages, by the caller's role."""

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from propagation.model import (
    Author,
    ClientKey,
    ClientKind,
    InteractionRow,
    Line,
    RouterVersion,
    get_kind,
)
from propagation.ports import GraphStore
from propagation.workflow.engine import Engine
from services.security.roles import Caller

SENDERS = 50


@dataclass(frozen=True)
class References:
    """Clients, interactions and messages that an answer to a caller cites.

    Clients are found by ref, interactions by sequence, and messages by (router, version). Users of
    events and senders of messages have no title here.

    Attributes:
        least_users: How many users must stand behind what the caller is shown.
        rare: Items that fewer users chose.
    """

    caller: Caller
    least_users: int
    rare: frozenset[int]
    keys: Mapping[int, ClientKey]
    titles: Mapping[int, str]
    interactions: Mapping[int, InteractionRow]
    messages: Mapping[tuple[int, int], RouterVersion]

    def list_visible_keys(self, refs: Iterable[int]) -> list[ClientKey] | int:
        """List the keys of clients by ref, or only count them.

        They are counted if one is a user and the caller may not know users.
        """
        known = sorted({ref for ref in refs if ref in self.keys})
        if not self.caller.sees_users and any(get_kind(ref) == ClientKind.USER for ref in known):
            return len(known)
        return [self.keys[ref] for ref in known]

    def reads_all(self, ref: int) -> bool:
        """Tell whether the caller may read everything of a client.

        `persons` is for users: what one of them did to an item is not shown at the item.
        """
        return (
            self.caller.sees_users
            if get_kind(ref) == ClientKind.ITEM
            else self.caller.reads_persons
        )

    def shows(self, line: Line | None, ref: int) -> bool:
        """Tell whether the caller may read a line of a client's profile.

        Of a user the role `persons` reads everything. Of an item a caller who may not see users
        reads what its own text says, and what rests on the events of `least_users` distinct users.
        An item hears messages when it is chosen, so what it heard needs as many.

        Args:
            line: None for one that is no longer kept.
        """
        if self.reads_all(ref):
            return True
        if line is None or line.author is Author.RECEPTION:
            return ref not in self.rare
        if line.author is Author.CATALOGUE and get_kind(ref) == ClientKind.ITEM:
            return True
        events = (self.interactions.get(source.sequence or 0) for source in line.sources)
        return len({event.user for event in events if event is not None}) >= self.least_users

    def title(self, ref: int) -> str:
        """Return a client's title.

        Returns:
            Empty for a user whom the caller may not know.
        """
        return (
            self.titles.get(ref, "")
            if self.caller.sees_users or get_kind(ref) == ClientKind.ITEM
            else ""
        )

    def name(self, ref: int) -> str:
        """Name a client in a sentence.

        An item is named by its title, a user by id if the caller may know it.
        """
        key = self.keys.get(ref)
        if key is None:
            return "a client that is gone"
        if key.kind == ClientKind.ITEM:
            return f"“{self.titles.get(ref) or key.id}”"
        return f"user {key.id}" if self.caller.sees_users else "a user"


async def load_references(
    engine: Engine,
    store: GraphStore,
    caller: Caller,
    lines: Iterable[Line] = (),
    refs: Iterable[int] = (),
    interactions: Iterable[InteractionRow] = (),
    messages: Iterable[RouterVersion] = (),
    *,
    past: bool = False,
) -> References:
    """Load everything that lines, interactions and messages refer to.

    The clients of `refs` are loaded too. `past` is for an answer that shows how things were.
    """
    least_users = caller.least_users(engine.settings.min_support, past=past)
    sources = [source for line in lines for source in line.sources]
    events = {event.sequence: event for event in interactions}
    missing = sorted({source.sequence for source in sources if source.sequence} - events.keys())
    if missing:
        events |= {event.sequence: event for event in await store.get_interactions(missing)}
    known = {(message.router, message.version): message for message in messages}
    cited = {
        (source.router, source.version)
        for source in sources
        if source.router is not None and source.version
    }
    if unknown := sorted(cited - known.keys()):
        known |= await store.get_messages(unknown, SENDERS)
    refs = frozenset(refs)
    titled = {*refs, *(event.item for event in events.values())}
    named = sorted(
        {
            *titled,
            *(event.user for event in events.values()),
            *(ref for message in known.values() for ref in list_shown_senders(message)),
        }
    )
    keys, clients = await asyncio.gather(store.find_keys(named), store.get_clients(sorted(titled)))
    return References(
        caller,
        least_users,
        await engine.find_rarely_chosen(refs, least_users),
        {ref: key for ref, key in zip(named, keys, strict=True) if key is not None},
        {client.ref: client.title for client in clients},
        events,
        known,
    )


def list_shown_senders(message: RouterVersion) -> list[int]:
    """List the senders of a message by ref, at most fifty."""
    return sorted(message.senders)[:SENDERS]
