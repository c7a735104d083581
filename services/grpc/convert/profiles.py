"""Profiles and their lines with their sources, as the proto's messages."""

from propagation.model.clients.profile import Author, Line, Source
from propagation.v1 import propagation_pb2 as pb
from propagation.workflow.history.profile_reader import ProfileReading
from services.grpc.convert.references import Facts, senders
from services.grpc.convert.vocabulary import AUTHORS, key_to_proto, message_to_proto, rule_to_proto


def profile_to_proto(reading: ProfileReading, facts: Facts, *, propagate: bool) -> pb.Profile:
    """Without `propagate`: neither lines that reception wrote nor what waits."""
    text = reading.text
    lines = [line for line in text.profile.lines if propagate or line.author != Author.RECEPTION]
    return pb.Profile(
        key=key_to_proto(reading.client.key),
        title=reading.client.title,
        version=text.profile.version,
        lines=[line_to_proto(line, facts) for line in lines],
        attributes=sorted({name for line in lines for name in line.attributes}),
        filter_memory=[rule_to_proto(rule) for rule in text.filter_memory.rules],
        waiting=[message_to_proto(message) for message in reading.waiting] if propagate else (),
        dropped=text.dropped,
    )


def line_to_proto(line: Line, facts: Facts) -> pb.Line:
    return pb.Line(
        id=line.id,
        text=line.text,
        attributes=line.attributes,
        weight=line.weight,
        author=AUTHORS[line.author],
        sources=[_source(source, facts) for source in line.sources],
    )


def interaction_to_proto(sequence: int, facts: Facts) -> pb.InteractionSource:
    """The sequence alone where the event is gone. Its id is its caller's, and may name the user."""
    event = facts.interactions.get(sequence)
    item = facts.keys.get(event.item) if event is not None else None
    if event is None or item is None:
        return pb.InteractionSource(sequence=sequence)
    return pb.InteractionSource(
        sequence=sequence,
        event_id=event.event_id if facts.caller.sees_users else None,
        users=facts.parties([event.user]),
        item=key_to_proto(item),
        item_title=facts.title(event.item),
        prompts=event.prompts,
        stand_in=event.stand_in,
    )


def _source(source: Source, facts: Facts) -> pb.Source:
    if source.router is None:
        return pb.Source(interaction=interaction_to_proto(source.sequence or 0, facts))
    version = source.version or 0
    message = facts.messages.get((source.router, version))
    if message is None:
        return pb.Source(message=pb.MessageSource(router=source.router, version=version))
    return pb.Source(
        message=pb.MessageSource(
            router=source.router,
            version=version,
            router_name=message.name,
            senders=facts.parties(senders(message)),
        )
    )
