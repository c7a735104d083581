"""Conversion of the model's types to the proto's messages.

First come the types that read the same for every caller, then profiles and their lines as one
caller may see them (visibility.py).
"""

from collections.abc import Iterable

from google.protobuf.timestamp_pb2 import Timestamp

from propagation.model import (
    Author,
    BankName,
    ClientKey,
    ClientKind,
    EvolutionKind,
    EvolutionRun,
    FilterRule,
    Line,
    LineageStep,
    Round,
    RouterEnd,
    RouterVersion,
    Source,
)
from propagation.reception.message_buffer import ProfileReading
from propagation.v1 import propagation_pb2 as pb
from propagation.workflow.history.router_origins import EvolutionOrigin
from propagation.workflow.reason.dead_letters import FailedEvent
from services.grpc.visibility import References, list_shown_senders

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
OUTCOMES = {
    "merged": pb.MERGE_OUTCOME_MERGED,
    "filtered": pb.MERGE_OUTCOME_FILTERED,
    "empty": pb.MERGE_OUTCOME_EMPTY,
    "fell out": pb.MERGE_OUTCOME_FELL_OUT,
}
BANKS = {BankName.SESSION: pb.BANK_SESSION, BankName.TASTE: pb.BANK_TASTE}


def key_to_proto(key: ClientKey) -> pb.ClientKey:
    """Convert a client's key."""
    return pb.ClientKey(kind=CLIENT_KINDS[key.kind], id=key.id)


def failed_event_to_proto(letter: FailedEvent, *, exchanges: bool) -> pb.DeadLetter:
    """Convert a dead letter.

    A client that was erased meanwhile has an empty id.

    Args:
        exchanges: Whether to show what a model was asked, and answered.
    """

    def name(ref: int) -> str:
        key = letter.keys[ref]
        return "" if key is None else key.id

    failed, event = letter.failed, letter.event
    return pb.DeadLetter(
        sequence=failed.sequence,
        reason=failed.reason,
        interaction=pb.Interaction(
            event_id=event.event_id,
            user_id=name(event.user),
            item_id=name(event.item),
            negative_item_id=None if event.negative is None else name(event.negative),
            time=time_to_proto(event.time),
            weight=event.weight,
        ),
        failed_at=time_to_proto(failed.failed_at),
        attempts=failed.attempts or None,
        asked=failed.exchange.asked if exchanges else "",
        answered=failed.exchange.answered if exchanges else "",
        queued=failed.queued,
    )


def time_to_proto(time_ms: int) -> Timestamp | None:
    """Convert a time in milliseconds since 1970; 0 means none."""
    if not time_ms:
        return None
    return Timestamp(seconds=time_ms // 1_000, nanos=time_ms % 1_000 * 1_000_000)


def origin_to_proto(origin: EvolutionOrigin | None) -> pb.EvolutionOrigin | None:
    """Convert the evolution that wrote a message; None for a round's."""
    if origin is None:
        return None
    return pb.EvolutionOrigin(
        run=origin.run,
        sequence=origin.sequence,
        kind=pb.EVOLUTION_KIND_UNSPECIFIED if origin.kind is None else EVOLUTION_KINDS[origin.kind],
        before=origin.before,
        undoes=origin.undoes,
    )


def end_to_proto(end: RouterEnd | None) -> pb.RouterEnd | None:
    """Convert the end of a router; None stays None."""
    if end is None:
        return None
    return pb.RouterEnd(sequence=end.sequence, run=end.run, merged_into=end.merged_into)


def message_to_proto(message: RouterVersion) -> pb.Message:
    """Convert a router's version to a message."""
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
    return pb.FilterRule(
        factor=rule.factor,
        text=rule.text,
        router=rule.router,  # type: ignore[arg-type]  # None leaves it unset
        attribute=rule.attribute,  # type: ignore[arg-type]
        evidence=rule.evidence,
        age=rule.age,
        first_router=rule.first_router,
    )


def parties_to_proto(refs: Iterable[int], references: References) -> pb.Parties:
    """Convert clients to keys, or to their number if keys are hidden."""
    keys = references.list_visible_keys(refs)
    if isinstance(keys, int):
        return pb.Parties(count=keys)
    parties = pb.Parties(clients=pb.Parties.Clients())
    for key in keys:  # adding keys in place takes half the time of making and copying them
        parties.clients.keys.add(kind=CLIENT_KINDS[key.kind], id=key.id)
    return parties


def profile_to_proto(reading: ProfileReading, references: References) -> pb.Profile:
    """Convert the part of a profile that the caller may read."""
    text, ref = reading.text, reading.client.ref
    lines = references.number_lines(text.profile.lines, ref)
    whole = references.reads_all(ref)
    return pb.Profile(
        key=key_to_proto(reading.client.key),
        title=reading.client.title,
        version=text.profile.version if whole else 0,
        lines=[
            line_to_proto(number, line, references, whole=whole) for number, line in lines.items()
        ],
        attributes=sorted({name for line in lines.values() for name in line.attributes}),
        filter_memory=map(rule_to_proto, text.filter_memory.rules if whole else ()),
        waiting=map(message_to_proto, () if ref in references.rare else reading.waiting),
        dropped=text.dropped if whole else 0,
    )


def line_to_proto(number: int, line: Line, references: References, *, whole: bool) -> pb.Line:
    """Convert a line with its sources.

    Args:
        number: The id by which the caller knows the line.
        whole: Whether the caller reads the whole profile. If not, the weight is left out, because
            each event of the client changes it.
    """
    return pb.Line(
        id=number,
        text=line.text,
        attributes=line.attributes,
        weight=line.weight if whole else 0,
        author=AUTHORS[line.author],
        sources=[_source_to_proto(source, references) for source in line.sources],
    )


def interaction_to_proto(sequence: int, references: References) -> pb.InteractionSource:
    """Convert an interaction.

    If the interaction is no longer stored, or the caller may not read its user, only the sequence
    is shown. Only analysts see event ids: the application chooses them, and an id may name the
    user.
    """
    event = references.interactions.get(sequence)
    item = references.keys.get(event.item) if event is not None else None
    if event is None or item is None or not references.reads_all(event.user):
        return pb.InteractionSource(sequence=sequence)
    return pb.InteractionSource(
        sequence=sequence,
        event_id=event.event_id if references.caller.sees_users else None,
        users=parties_to_proto([event.user], references),
        item=key_to_proto(item),
        item_title=references.title(event.item),
        prompts=event.prompts,
        fallback=event.fallback,
    )


def _senders_to_proto(message: RouterVersion, references: References) -> pb.Parties:
    """Convert the first senders, or only count them.

    A caller who may not see users only gets the number, even of items: an item that sends because
    of events was chosen, perhaps by a single user.
    """
    if references.caller.sees_users:
        return parties_to_proto(list_shown_senders(message), references)
    return pb.Parties(count=len(list_shown_senders(message)))


def _source_to_proto(source: Source, references: References) -> pb.Source:
    if source.message is None:
        return pb.Source(interaction=interaction_to_proto(source.sequence or 0, references))
    router, version = source.message
    message = references.messages.get(source.message)
    return pb.Source(
        message=pb.MessageSource(
            router=router,
            version=version,
            router_name=message.name if message else "",
            senders=_senders_to_proto(message, references) if message else None,
            evolution=origin_to_proto(references.origins.get(source.message)),
        )
    )
