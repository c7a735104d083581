"""Conversion of the model's types to the proto's messages.

First the vocabulary, which reads the same for every caller; then profiles and their lines, with the
clients, interactions and messages that they refer to, as one caller may see them.
"""

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from google.protobuf.timestamp_pb2 import Timestamp

from propagation.model import (
    Author,
    BankName,
    ClientKey,
    ClientKind,
    EvolutionKind,
    EvolutionRun,
    FilterRule,
    InteractionRow,
    Line,
    LineageStep,
    Round,
    RouterVersion,
    Source,
    kind_of,
)
from propagation.reception.message_buffer import ProfileReading
from propagation.v1 import propagation_pb2 as pb
from propagation.workflow.engine import Engine
from services.security.roles import Caller

AUTHORS = {
    Author.CATALOGUE: pb.AUTHOR_CATALOGUE,
    Author.INTERACTION: pb.AUTHOR_INTERACTION,
    Author.RECEPTION: pb.AUTHOR_RECEPTION,
}
CLIENT_KINDS = {ClientKind.USER: pb.CLIENT_KIND_USER, ClientKind.ITEM: pb.CLIENT_KIND_ITEM}
EVOLUTION_KINDS = {
    EvolutionKind.SPLIT: pb.EVOLUTION_KIND_SPLIT,
    EvolutionKind.MERGE: pb.EVOLUTION_KIND_MERGE,
    EvolutionKind.REWRITE: pb.EVOLUTION_KIND_REWRITE,
}
SENDERS = 50
BANKS = {BankName.SESSION: pb.BANK_SESSION, BankName.TASTE: pb.BANK_TASTE}


def key_to_proto(key: ClientKey) -> pb.ClientKey:
    """Convert a client's key."""
    return pb.ClientKey(kind=CLIENT_KINDS[key.kind], id=key.id)


def time_to_proto(time_ms: int) -> Timestamp | None:
    """Convert a time in milliseconds since 1970; 0 means none."""
    if not time_ms:
        return None
    return Timestamp(seconds=time_ms // 1_000, nanos=time_ms % 1_000 * 1_000_000)


def message_to_proto(message: RouterVersion) -> pb.Message:
    """Convert a router's version as the message that it is."""
    return pb.Message(
        router=message.router,
        version=message.version,
        router_name=message.name,
        text=message.text,
        attributes=message.attributes,
        sequence=message.sequence,
    )


def round_to_proto(round_: Round) -> pb.RoundReport:
    """Convert a published round."""
    return pb.RoundReport(
        number=round_.number,
        sequence=round_.sequence,
        boundary=round_.boundary,
        changed_clients=round_.changed,
        touched_routers=round_.touched,
        edges_opened=round_.edges_opened,
        edges_closed=round_.edges_closed,
        reached_clients=round_.reached,
    )


def evolution_to_proto(run: EvolutionRun) -> pb.EvolutionRun:
    """Convert an evolution run; a dry run has no time."""
    return pb.EvolutionRun(
        run=run.run,
        sequence=run.sequence,
        published=run.published,
        verdict=run.verdict,
        undoes=run.undoes,
        log_loss_before=run.log_loss_before,
        log_loss_after=run.log_loss_after,
        standard_error=run.standard_error,
        time=time_to_proto(run.time),
        changes=[
            pb.EvolutionChange(
                kind=EVOLUTION_KINDS[change.kind],
                before=change.before,
                after=change.after,
                reason=change.reason,
            )
            for change in run.changes
        ],
    )


def lineage_to_proto(step: LineageStep) -> pb.Lineage:
    """Convert a step of a router's lineage."""
    return pb.Lineage(
        before=step.before,
        after=step.after,
        kind=EVOLUTION_KINDS[EvolutionKind(step.kind)],
        run=step.run,
    )


def rule_to_proto(rule: FilterRule) -> pb.FilterRule:
    """Convert a filter rule."""
    out = pb.FilterRule(factor=rule.factor, text=rule.text, evidence=rule.evidence, age=rule.age)
    if rule.router is not None:
        out.router = rule.router
    else:
        out.attribute = rule.attribute or ""
    return out


@dataclass(frozen=True)
class References:
    """Clients, interactions and messages that an answer to a caller cites.

    Clients are found by ref, interactions by sequence, and messages by (router, version). Users of
    events and senders of messages have no title here. `least_users` must stand behind what the
    caller is shown; `rare` are the items that fewer users chose.
    """

    caller: Caller
    least_users: int
    rare: frozenset[int]
    keys: Mapping[int, ClientKey]
    titles: Mapping[int, str]
    interactions: Mapping[int, InteractionRow]
    messages: Mapping[tuple[int, int], RouterVersion]

    def parties(self, refs: Iterable[int]) -> pb.Parties:
        """Name clients by id, or only count them.

        They are counted if one is a user and the caller may not know users.
        """
        known = sorted({ref for ref in refs if ref in self.keys})
        if not self.caller.sees_users and any(kind_of(ref) == ClientKind.USER for ref in known):
            return pb.Parties(count=len(known))
        parties = pb.Parties(clients=pb.Parties.Clients())
        for ref in known:  # adding in place takes half the time of making keys and copying them
            key = self.keys[ref]
            parties.clients.keys.add(kind=CLIENT_KINDS[key.kind], id=key.id)
        return parties

    def reads_all(self, ref: int) -> bool:
        """Tell whether the caller may read everything of a client.

        `persons` is for users: what one of them did to an item is not shown at the item.
        """
        return (
            self.caller.sees_users if kind_of(ref) == ClientKind.ITEM else self.caller.reads_persons
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
        if line.author is Author.CATALOGUE and kind_of(ref) == ClientKind.ITEM:
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
            if self.caller.sees_users or kind_of(ref) == ClientKind.ITEM
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
        events |= {event.sequence: event for event in await engine.store.interactions(missing)}
    known = {(message.router, message.version): message for message in messages}
    cited = {
        (source.router, source.version)
        for source in sources
        if source.router is not None and source.version
    }
    if unknown := sorted(cited - known.keys()):
        known |= await engine.store.messages(unknown, SENDERS)
    refs = frozenset(refs)
    titled = {*refs, *(event.item for event in events.values())}
    named = sorted(
        {
            *titled,
            *(event.user for event in events.values()),
            *(ref for message in known.values() for ref in first_senders(message)),
        }
    )
    keys, clients = await asyncio.gather(
        engine.store.find_keys(named), engine.store.get_clients(sorted(titled))
    )
    return References(
        caller,
        least_users,
        await engine.rarely_chosen(refs, least_users),
        {ref: key for ref, key in zip(named, keys, strict=True) if key is not None},
        {client.ref: client.title for client in clients},
        events,
        known,
    )


def first_senders(message: RouterVersion) -> list[int]:
    """List the first fifty clients whose attributes a message carries."""
    return sorted(message.senders)[:SENDERS]


def profile_to_proto(reading: ProfileReading, references: References) -> pb.Profile:
    """Convert a profile with its waiting messages, as far as the caller may read it."""
    text, ref = reading.text, reading.client.ref
    lines = [line for line in text.profile.lines if references.shows(line, ref)]
    whole = references.reads_all(ref)
    return pb.Profile(
        key=key_to_proto(reading.client.key),
        title=reading.client.title,
        version=text.profile.version if whole else 0,
        lines=[line_to_proto(line, references) for line in lines],
        attributes=sorted({name for line in lines for name in line.attributes}),
        filter_memory=[rule_to_proto(rule) for rule in text.filter_memory.rules if whole],
        waiting=map(message_to_proto, () if ref in references.rare else reading.waiting),
        dropped=text.dropped if whole else 0,
    )


def line_to_proto(line: Line, references: References) -> pb.Line:
    """Convert a line with its sources."""
    return pb.Line(
        id=line.id,
        text=line.text,
        attributes=line.attributes,
        weight=line.weight,
        author=AUTHORS[line.author],
        sources=[_source_to_proto(source, references) for source in line.sources],
    )


def interaction_to_proto(sequence: int, references: References) -> pb.InteractionSource:
    """Convert an interaction.

    One that is no longer kept has its sequence only, and so has any for a caller who may not read
    persons. The application chooses event ids, and one may name the user; so only analysts see
    them.
    """
    event = references.interactions.get(sequence)
    item = references.keys.get(event.item) if event is not None else None
    if event is None or item is None or not references.caller.reads_persons:
        return pb.InteractionSource(sequence=sequence)
    return pb.InteractionSource(
        sequence=sequence,
        event_id=event.event_id if references.caller.sees_users else None,
        users=references.parties([event.user]),
        item=key_to_proto(item),
        item_title=references.title(event.item),
        prompts=event.prompts,
        stand_in=event.stand_in,
    )


def _senders_to_proto(message: RouterVersion, references: References) -> pb.Parties:
    """Convert the first senders; a caller who may not see users gets their number.

    An item that sent because of events was chosen, perhaps by one user.
    """
    if references.caller.sees_users:
        return references.parties(first_senders(message))
    return pb.Parties(count=len(first_senders(message)))


def _source_to_proto(source: Source, references: References) -> pb.Source:
    if source.router is None:
        return pb.Source(interaction=interaction_to_proto(source.sequence or 0, references))
    message = references.messages.get((source.router, source.version or 0))
    return pb.Source(
        message=pb.MessageSource(
            router=source.router,
            version=source.version or 0,
            router_name=message.name if message else "",
            senders=_senders_to_proto(message, references) if message else None,
        )
    )
