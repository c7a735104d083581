"""Clients, profiles and messages for tests of the mechanisms."""

from propagation.model import (
    Author,
    Client,
    ClientKey,
    ClientKind,
    FilterMemory,
    IntegratedAttribute,
    Line,
    Profile,
    ReasonWork,
    RouterVersion,
    Source,
    compute_ref,
)
from propagation.ports import Party

USER, POSITIVE, NEGATIVE = (
    compute_ref(ClientKind.USER, 1),
    compute_ref(ClientKind.ITEM, 2),
    compute_ref(ClientKind.ITEM, 3),
)


def user(**fields):
    return Client(ref=USER, key=ClientKey(kind=ClientKind.USER, id="u-4711"), **fields)


def item(ref=POSITIVE, title="Kind of Blue", categories=("jazz",), **fields):
    return Client(
        ref=ref,
        key=ClientKey(kind=ClientKind.ITEM, id="i-0815"),
        title=title,
        categories=categories,
        **fields,
    )


def line(id_, *attributes, author=Author.INTERACTION, weight=1.0, sources=(), text="A line."):
    return Line(
        id=id_, text=text, attributes=attributes, weight=weight, author=author, sources=sources
    )


def profile(ref, *lines):
    return Profile(
        ref=ref, version=1, lines=lines, next_id=max((one.id for one in lines), default=0) + 1
    )


def heard_line(id_, router, *attributes, weight=0.4, version=1):
    return line(
        id_,
        *attributes,
        author=Author.RECEPTION,
        weight=weight,
        sources=(Source(router=router, version=version),),
    )


def message(router, *attributes, name="soul and funk", version=1, text="A community."):
    return RouterVersion(
        router=router,
        version=version,
        round=1,
        epoch=1,
        name=name,
        text=text,
        attributes=attributes,
        integrated=(IntegratedAttribute(attribute="x", ref=999, profile_version=1, sequence=1),),
    )


def party(client, *lines, rules=(), messages=()):
    return Party(
        client=client,
        profile=profile(client.ref, *lines),
        filter_memory=FilterMemory(rules=rules),
        messages=messages,
    )


def work(sequence=50, negative=NEGATIVE, scores=(0.7, 0.2)):
    return ReasonWork(
        sequence=sequence,
        user=USER,
        item=POSITIVE,
        negative=negative,
        weight=1.0,
        score_positive=scores[0] if scores else None,
        score_negative=scores[1] if scores else None,
    )
