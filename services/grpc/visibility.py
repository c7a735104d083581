"""Visibility of clients, lines, events and messages, by the caller's role."""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
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
from propagation.workflow.history.router_origins import EvolutionOrigin, find_evolution_origins
from services.security.roles import Caller, Role, admitted_caller

SENDERS = 50


@dataclass(frozen=True)
class References:
    """Clients, interactions and messages that an answer to a caller cites.

    Clients are found by ref, interactions by sequence, and messages by (router, version). Users of
    events and senders of messages have no title here.

    Attributes:
        least_users: How many users must stand behind what the caller is shown.
        rare: Items that fewer than `least_users` users chose.
        named: Users whom the call names; the role `persons` reads everything of them.
        origins: The evolutions that wrote messages.
    """

    caller: Caller
    least_users: int
    rare: frozenset[int]
    keys: Mapping[int, ClientKey]
    titles: Mapping[int, str]
    interactions: Mapping[int, InteractionRow]
    messages: Mapping[tuple[int, int], RouterVersion]
    named: frozenset[int]
    origins: Mapping[tuple[int, int], EvolutionOrigin]

    def list_visible_keys(self, refs: Iterable[int]) -> list[ClientKey] | int:
        """List the keys of clients by ref, or only count them.

        If one of them is a user and the caller may not know users, all are only counted.
        """
        known = sorted({ref for ref in refs if ref in self.keys})
        if not self.caller.sees_users and any(get_kind(ref) == ClientKind.USER for ref in known):
            return len(known)
        return [self.keys[ref] for ref in known]

    def reads_all(self, ref: int) -> bool:
        """Tell whether the caller may read everything of a client.

        The role `persons` reads everything of users whom the call names. What such a user did to an
        item is still not shown at the item.
        """
        return self.caller.sees_users or (Role.PERSONS in self.caller.roles and ref in self.named)

    def shows(self, line: Line | None, ref: int) -> bool:
        """Tell whether the caller may read a line of a client's profile.

        If the caller may not read everything of the client, there are three cases. A line of an
        item's catalogue text is shown. A line from interactions is shown if at least `least_users`
        distinct users stand behind them. A line from messages is hidden if fewer users chose the
        item, because an item merges messages when it is chosen.

        Args:
            line: None if the line is no longer kept.
        """
        if self.reads_all(ref):
            return True
        if line is None or line.author is Author.RECEPTION:
            return ref not in self.rare
        if line.author is Author.CATALOGUE and get_kind(ref) == ClientKind.ITEM:
            return True
        events = (self.interactions.get(source.sequence or 0) for source in line.sources)
        return len({event.user for event in events if event is not None}) >= self.least_users

    def number_lines(self, lines: Iterable[Line], ref: int) -> dict[int, Line]:
        """Return the lines that the caller may read, by number.

        A caller who may not read all lines gets them numbered from 1, because a gap would reveal a
        hidden line.
        """
        shown = [line for line in lines if self.shows(line, ref)]
        if self.reads_all(ref):
            return {line.id: line for line in shown}
        return dict(enumerate(shown, 1))

    def title(self, ref: int) -> str:
        """Return a client's title; empty for a user hidden from the caller."""
        return (
            self.titles.get(ref, "")
            if self.caller.sees_users or get_kind(ref) == ClientKind.ITEM
            else ""
        )

    def name(self, ref: int) -> str:
        """Name a client in a sentence.

        An item is named by its title, a user by the id if the caller may know users.
        """
        key = self.keys.get(ref)
        if key is None:
            return "a client that is gone"
        if key.kind == ClientKind.ITEM:
            return f"“{self.titles.get(ref) or key.id}”"
        return f"user {key.id}" if self.caller.sees_users else "a user"


async def load_references(
    engine: Engine,
    lines: Iterable[Line] = (),
    refs: Iterable[int] = (),
    interactions: Iterable[InteractionRow] = (),
    *,
    messages: Iterable[RouterVersion] = (),
    named: Iterable[int] = (),
    past: bool = False,
) -> References:
    """Load everything that lines, interactions and messages refer to.

    The caller is that of the running call.

    Args:
        refs: Clients to load, too.
        messages: Messages that the answer shows, besides those that lines cite.
        named: Clients whom the call names.
        past: Whether the answer shows how things were.
    """
    caller, store = admitted_caller.get(), engine.store
    least_users = caller.least_users(engine.settings.min_support, past=past)
    sources = [source for line in lines for source in line.sources]
    events = {event.sequence: event for event in interactions}
    missing = sorted({source.sequence for source in sources if source.sequence} - events.keys())
    cited = sorted({source.message for source in sources if source.message is not None})
    more, found = await asyncio.gather(
        _load_interactions(store, missing), _load_messages(store, cited)
    )
    events |= {event.sequence: event for event in more}
    origins = await find_evolution_origins(store, [*messages, *found.values()])
    refs = frozenset(refs)
    titled = {*refs, *(event.item for event in events.values())}
    shown = sorted(
        {
            *titled,
            *(event.user for event in events.values()),
            *(ref for message in found.values() for ref in list_shown_senders(message)),
        }
    )
    keys, clients = await asyncio.gather(store.find_keys(shown), store.get_clients(sorted(titled)))
    return References(
        caller,
        least_users,
        await engine.find_rarely_chosen(refs, least_users),
        {ref: key for ref, key in zip(shown, keys, strict=True) if key is not None},
        {client.ref: client.title for client in clients},
        events,
        found,
        frozenset(ref for ref in named if get_kind(ref) == ClientKind.USER),
        origins,
    )


async def _load_interactions(
    store: GraphStore, sequences: Sequence[int]
) -> Sequence[InteractionRow]:
    return await store.get_interactions(sequences) if sequences else ()


async def _load_messages(
    store: GraphStore, keys: Sequence[tuple[int, int]]
) -> Mapping[tuple[int, int], RouterVersion]:
    return await store.get_messages(keys, SENDERS) if keys else {}


def list_shown_senders(message: RouterVersion) -> list[int]:
    """List the senders of a message by ref, at most fifty."""
    return sorted(message.senders)[:SENDERS]
