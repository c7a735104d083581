"""Who waits for which message, found from edges and from what was current when (DESIGN, "Copies are
not needed to multicast").

A client waits for the newest message, past its watermark, of each router whose edge covered it when
that was sent, and for what was current when its first edge opened: then that was as if just sent.
What comes from a client alone is not sent to it, so it supersedes nothing that waits. Of a router
only what was current at the end of an edge is looked up: a client that slept for a thousand rounds
has a thousand messages of each router behind it."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

STANDS = -1


@dataclass(frozen=True, slots=True)
class Sent:
    """One message: its round and version, and the client that it comes from alone (-1: it comes
    from several)."""

    round: int
    version: int
    lone: int


@dataclass(frozen=True, slots=True)
class Cover:
    """An edge of a client: the rounds from `opened` to before `closed` (-1: it stands) reach it."""

    router: int
    opened: int
    closed: int


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """The rounds from `since` to `until` in which a router's messages were sent to a client, none
    of them received yet."""

    router: int
    since: int
    until: int
    ref: int


def covers_by_client(
    refs: Sequence[int], routers: Sequence[int], opened: Sequence[int], closed: Sequence[int]
) -> dict[int, list[Cover]]:
    found: dict[int, list[Cover]] = {}
    for ref, *edge in zip(refs, routers, opened, closed, strict=True):
        found.setdefault(ref, []).append(Cover(*edge))
    return found


def spans_of(ref: int, after: int, covers: Iterable[Cover], through: int) -> Iterator[Span]:
    """What a client's edges covered after its watermark and through a round."""
    for cover in covers:
        since, until = (
            max(after + 1, cover.opened),
            through if cover.closed == STANDS else min(cover.closed - 1, through),
        )
        if since <= until:
            yield Span(cover.router, since, until, ref)


def first_edges(after: int, covers: Sequence[Cover]) -> list[tuple[int, int]]:
    """(router, round) of a client's first edges, where it has not received through their round yet."""
    first = min(cover.opened for cover in covers)
    return [(cover.router, first) for cover in covers if cover.opened == first > after]


def waiting_keys(
    spans: Iterable[Span],
    firsts: Iterable[tuple[int, int]],
    ref: int,
    current: Mapping[tuple[int, int], Sent],
    before: Mapping[Span, Sent],
) -> list[tuple[int, int]]:
    """(router, version) of what waits for a client, newest round first. `current`: by (router,
    round); `before`: what was sent before what comes from the client alone."""
    newest: dict[int, Sent] = {}

    def waits(router: int, message: Sent | None) -> None:
        if (
            message is not None
            and message.lone != ref
            and (router not in newest or newest[router].version < message.version)
        ):
            newest[router] = message

    for span in spans:
        waits(span.router, before.get(span) or sent_in(span, current))
    for router, first in firsts:
        waits(router, current.get((router, first)))
    return [
        (router, message.version)
        for router, message in sorted(newest.items(), key=lambda pair: (-pair[1].round, pair[0]))
    ]


def sent_in(span: Span, current: Mapping[tuple[int, int], Sent]) -> Sent | None:
    """The newest message of a span, whoever it comes from."""
    message = current.get((span.router, span.until))
    return message if message is not None and message.round >= span.since else None
