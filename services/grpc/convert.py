"""Between the proto's messages and the vocabulary."""

from propagation.model.client import Client, ClientKey, ClientKind
from propagation.model.profile import Author, Line
from propagation.model.text import ClientText
from propagation.v1 import propagation_pb2 as pb

AUTHORS = {Author.CATALOGUE: pb.AUTHOR_CATALOGUE, Author.INTERACTION: pb.AUTHOR_INTERACTION,
           Author.RECEPTION: pb.AUTHOR_RECEPTION}


def key_to_proto(key: ClientKey) -> pb.ClientKey:
    kind = pb.CLIENT_KIND_USER if key.kind == ClientKind.USER else pb.CLIENT_KIND_ITEM
    return pb.ClientKey(kind=kind, id=key.id)


def line_to_proto(line: Line) -> pb.Line:
    sources = []
    for source in line.sources:
        if source.router is not None:
            sources.append(pb.Source(message=pb.MessageSource(router=source.router, version=source.version or 0)))
        else:
            sources.append(pb.Source(interaction=pb.InteractionSource(sequence=source.sequence or 0)))
    return pb.Line(id=line.id, text=line.text, attributes=line.attributes, weight=line.weight, author=AUTHORS[line.author],
                   sources=sources)


def profile_to_proto(client: Client, text: ClientText) -> pb.Profile:
    return pb.Profile(key=key_to_proto(client.key), version=text.profile.version,
                      lines=[line_to_proto(line) for line in text.profile.lines],
                      attributes=sorted(text.profile.attributes), dropped=text.dropped)
