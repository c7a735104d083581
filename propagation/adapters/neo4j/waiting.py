"""Who waits for which message, found from edges and from when messages were sent (DESIGN, "Copies are not needed to multicast").

A client waits for the newest message, past its watermark, of each router whose edge covered it when that was sent, and for what
was current when its first edge opened: then that was as if just sent. What comes from a client alone is not sent to it, so it
supersedes nothing that waits."""

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

STANDS = -1


@dataclass(frozen=True, slots=True, order=True)
class Sent:
    """One message: its round and version, and the client that it comes from alone (-1: it comes from several)."""

    round: int
    version: int
    lone: int


@dataclass(frozen=True, slots=True)
class Cover:
    """An edge of a client: the rounds from `opened` to before `closed` (-1: it stands) reach it."""

    router: int
    opened: int
    closed: int


def covers_by_client(refs: Sequence[int], routers: Sequence[int], opened: Sequence[int],
                     closed: Sequence[int]) -> dict[int, list[Cover]]:
    found: dict[int, list[Cover]] = {}
    for ref, *edge in zip(refs, routers, opened, closed, strict=True):
        found.setdefault(ref, []).append(Cover(*edge))
    return found


def sent_by_router(routers: Sequence[int], rounds: Sequence[int], versions: Sequence[int],
                   lones: Sequence[int]) -> dict[int, list[Sent]]:
    """Oldest first."""
    found: dict[int, list[Sent]] = {}
    for router, *message in zip(routers, rounds, versions, lones, strict=True):
        found.setdefault(router, []).append(Sent(*message))
    for messages in found.values():
        messages.sort()
    return found


def first_of(covers: Iterable[Cover]) -> int:
    """The round that opened a client's first edge."""
    return min(cover.opened for cover in covers)


def oldest_needed(after: Mapping[int, int], covers: Mapping[int, Sequence[Cover]]) -> int:
    """Messages of rounds up to this one are waited for by nobody, but for what was current when a first edge opened."""
    return min((max(after[ref], first_of(found) - 1) for ref, found in covers.items()), default=0)


def current_needed(after: Mapping[int, int], covers: Mapping[int, Sequence[Cover]]) -> list[tuple[int, int]]:
    """(router, round) of first edges that their clients have not received through yet."""
    firsts = ((after[ref], first_of(found), found) for ref, found in covers.items())
    return sorted({(cover.router, first) for watermark, first, found in firsts if watermark < first
                   for cover in found if cover.opened == first})


def waiting_keys(ref: int, after: int, covers: Sequence[Cover], sent: Mapping[int, Sequence[Sent]],
                 current: Mapping[tuple[int, int], Sent]) -> list[tuple[int, int]]:
    """(router, version) of what waits for a client, newest round first."""
    newest: dict[int, Sent] = {}
    first = first_of(covers)
    for cover in covers:
        for message in (_newest_covered(sent.get(cover.router, ()), max(after + 1, cover.opened), cover.closed, ref),
                        current.get((cover.router, first)) if cover.opened == first and after < first else None):
            if message is not None and message.lone != ref and (
                    cover.router not in newest or newest[cover.router].version < message.version):
                newest[cover.router] = message
    return [(router, message.version) for router, message in sorted(newest.items(), key=lambda pair: (-pair[1].round, pair[0]))]


def _newest_covered(messages: Sequence[Sent], since: int, closed: int, ref: int) -> Sent | None:
    """The newest of a router's messages from round `since` on and before `closed` that is not from this client alone."""
    place = len(messages) if closed == STANDS else bisect_left(messages, closed, key=lambda message: message.round)
    while place and messages[place - 1].round >= since:
        place -= 1
        if messages[place].lone != ref:
            return messages[place]
    return None
