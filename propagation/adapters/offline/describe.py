"""A client's own text as catalogue lines."""

from collections.abc import Sequence

from propagation.adapters.offline.wording import bounded, listed, name_of, quoted, salient
from propagation.model.client import Client, ClientKind
from propagation.model.profile import AddLine, Author, Edit, Line

CATALOGUE_WEIGHT = 2.0


def catalogue_edits(client: Client) -> Sequence[Edit]:
    if not client.has_text:
        return ()
    names = salient(client)
    subject = quoted(name_of(client)) if client.key.kind == ClientKind.ITEM else "Describes themselves as interested in"
    if client.key.kind == ClientKind.ITEM:
        text = f"{subject}, listed under {listed(names)}." if client.attributes or client.categories else f"{subject}."
    else:
        text = f"{subject} {listed(names)}."
    lines = [Line(id=0, text=bounded(text), attributes=tuple(names), weight=CATALOGUE_WEIGHT, author=Author.CATALOGUE)]
    if client.description:
        lines.append(Line(id=0, text=bounded(client.description), weight=CATALOGUE_WEIGHT, author=Author.CATALOGUE))
    return [AddLine(line=line) for line in lines]
