"""Profiles, and their lines with their sources."""

from propagation.model import Author, Line, Source
from propagation.v1 import propagation_pb2 as pb
from propagation.workflow.history.profile_reader import ProfileReading
from services.grpc.convert.references import References, first_senders
from services.grpc.convert.vocabulary import (
    AUTHORS,
    key_to_proto,
    message_to_proto,
    rule_to_proto,
)


def profile_to_proto(
    reading: ProfileReading, references: References, *, propagate: bool
) -> pb.Profile:
    """Convert a profile; without `propagate`, leave out reception's lines and waiting messages."""
    text = reading.text
    lines = [line for line in text.profile.lines if propagate or line.author != Author.RECEPTION]
    return pb.Profile(
        key=key_to_proto(reading.client.key),
        title=reading.client.title,
        version=text.profile.version,
        lines=[line_to_proto(line, references) for line in lines],
        attributes=sorted({name for line in lines for name in line.attributes}),
        filter_memory=[rule_to_proto(rule) for rule in text.filter_memory.rules],
        waiting=[message_to_proto(message) for message in reading.waiting] if propagate else (),
        dropped=text.dropped,
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
    """Convert an interaction; one that is no longer kept has its sequence only.

    The event id is the application's and may name the user, so only analysts see it.
    """
    event = references.interactions.get(sequence)
    item = references.keys.get(event.item) if event is not None else None
    if event is None or item is None:
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


def _source_to_proto(source: Source, references: References) -> pb.Source:
    if source.router is None:
        return pb.Source(interaction=interaction_to_proto(source.sequence or 0, references))
    version = source.version or 0
    message = references.messages.get((source.router, version))
    return pb.Source(
        message=pb.MessageSource(
            router=source.router,
            version=version,
            router_name=message.name if message else "",
            senders=references.parties(first_senders(message)) if message else None,
        )
    )
