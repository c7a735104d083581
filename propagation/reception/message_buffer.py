"""The buffer: the newest B messages that wait for a client.

Source: RecNet 2.3.1.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from propagation.model import Author, Client, ClientText, RouterVersion, is_since_bootstrap

RouterRound = tuple[int, int]
"""A router and the number of a round."""
MessageKey = tuple[int, int]
"""A router, and the version of its profile that is the message."""


@dataclass(frozen=True, slots=True)
class Buffer:
    """The messages that a client merges, and those that did not fit.

    Both are ordered newest first.
    """

    kept: Sequence[RouterVersion]
    dropped: Sequence[RouterVersion]


@dataclass(frozen=True)
class ProfileReading:
    """A client with its text.

    Attributes:
        waiting: Messages in its buffer, newest first.
    """

    client: Client
    text: ClientText
    waiting: Sequence[RouterVersion] = ()

    def remove_messages(self) -> "ProfileReading":
        """Leave out what came by propagation: reception's lines, and waiting messages."""
        profile = self.text.profile
        own = tuple(line for line in profile.lines if line.author != Author.RECEPTION)
        return replace(
            self, text=replace(self.text, profile=replace(profile, lines=own)), waiting=()
        )


def fill_buffer(waiting: Sequence[RouterVersion], capacity: int) -> Buffer:
    """Keep the newest messages that wait for a client.

    They are merged last in, first out.

    Args:
        waiting: Newest first, at most one message per router, none from the client alone.
        capacity: B, the most messages that a buffer holds.
    """
    return Buffer(waiting[:capacity], waiting[capacity:])


class ClientEdge(NamedTuple):
    """An edge of a client, over the rounds that it covers.

    Its router's messages of these rounds are sent to the client.

    Attributes:
        opened: The first round that the edge covers.
        closed: The first round that it no longer covers; None for a current edge.
    """

    router: int
    opened: int
    closed: int | None = None


class Receiver(NamedTuple):
    """A client as a store fetches it to find its waiting messages.

    Attributes:
        watermark: The last round whose messages the client merged or dropped.
        edges: The edges that rounds up to `through` opened. A store may leave out edges that
            closed at or before the watermark.
        first_opened: The round that opened the client's first edge, also where this edge has
            closed. A store may answer None where the watermark has reached this round.
        first_era: The epoch of the newest bootstrap before that round. A store may leave it out
            where it answers None, or where the watermark has reached this round.
    """

    ref: int
    watermark: int
    edges: Sequence[ClientEdge]
    first_opened: int | None
    first_era: int = 0


class SentMessage(NamedTuple):
    """A published message.

    Attributes:
        lone_sender: Its only sender, if it has just one.
        epoch: The epoch of its router: a bootstrap gives the numbers to other routers.
    """

    router: int
    version: int
    round: int
    lone_sender: int | None
    epoch: int = 0


class Window(NamedTuple):
    """Rounds of a router's messages that a client has not merged.

    Both ends are included.
    """

    router: int
    since: int
    until: int
    ref: int


class WaitingMessages:
    """Finds the messages that wait for clients.

    Messages are stored once, and not copied for each client.

    The newest message of a router waits for each client that the router's edge covered when the
    message was sent, if the message is newer than the client's watermark. The messages that were
    current when a client's first edge opened wait, too. Of these, messages from before the
    bootstrap of that time do not: their routers had the same numbers, but were others. A message
    that comes from the client alone was not sent to it, and supersedes nothing. At most one message
    per router waits.

    A store fetches the receivers, then the messages of `list_rounds()`, then those of
    `list_own_windows()`. Only the message that was current at the end of a window is looked up,
    because a client that was away for a thousand rounds may have missed a thousand messages of each
    router.

    Source: RecNet 2.3.1 and eq. 5; docs/design.md, "The graph".
    """

    def __init__(self, receivers: Sequence[Receiver], through: int) -> None:
        """Search among the messages of the rounds up to `through`."""
        self._windows = {one.ref: list(_list_windows(one, through)) for one in receivers}
        self._firsts = {one.ref: _find_first_edges(one) for one in receivers}
        self._eras = {one.ref: one.first_era for one in receivers}

    def list_rounds(self) -> list[RouterRound]:
        """List the (router, round) pairs whose message must be looked up.

        The message is the one that was the router's current one at that round.
        """
        ends = {
            (window.router, window.until)
            for windows in self._windows.values()
            for window in windows
        }
        return sorted(ends.union(*self._firsts.values()))

    def list_own_windows(self, current: Mapping[RouterRound, SentMessage]) -> list[Window]:
        """List the windows whose newest message comes from the receiving client alone.

        In each of them, the newest message that has other senders must be looked up, too.
        """
        lone = {key for key, sent in current.items() if sent.lone_sender is not None}
        return sorted(
            window
            for windows in self._windows.values()
            for window in windows
            if (window.router, window.until) in lone
            and (sent := _find_newest_in(window, current)) is not None
            and sent.lone_sender == window.ref
        )

    def choose(
        self,
        current: Mapping[RouterRound, SentMessage],
        from_others: Mapping[Window, SentMessage],
    ) -> dict[int, list[MessageKey]]:
        """Choose the messages that wait for each client.

        Args:
            current: The message that was current in each of `list_rounds()`, if there was one.
            from_others: For each of `list_own_windows()`, the newest message in it that does not
                come from the client alone, if there is one.

        Returns:
            Router and version of each waiting message by client, newest round first, then by
            router.
        """
        return {ref: self._choose(ref, current, from_others) for ref in self._windows}

    def _choose(
        self,
        ref: int,
        current: Mapping[RouterRound, SentMessage],
        from_others: Mapping[Window, SentMessage],
    ) -> list[MessageKey]:
        found = [
            (from_others.get(window) if from_others else None) or _find_newest_in(window, current)
            for window in self._windows[ref]
        ]
        found += [
            sent
            for first in self._firsts[ref]
            if (sent := current.get(first)) and is_since_bootstrap(sent.epoch, self._eras[ref])
        ]
        newest: dict[int, SentMessage] = {}
        for sent in found:
            if sent is not None and sent.lone_sender != ref:
                known = newest.get(sent.router)
                if known is None or sent.version >= known.version:
                    newest[sent.router] = sent
        by_round = sorted(newest.values(), key=lambda sent: (-sent.round, sent.router))
        return [(sent.router, sent.version) for sent in by_round]


def _list_windows(receiver: Receiver, through: int) -> Iterator[Window]:
    for edge in receiver.edges:
        since = max(receiver.watermark + 1, edge.opened)
        until = through if edge.closed is None else min(edge.closed - 1, through)
        if since <= until:
            yield Window(edge.router, since, until, receiver.ref)


def _find_first_edges(receiver: Receiver) -> list[RouterRound]:
    """List the client's first edges.

    They are left out if the client's watermark has reached their round.
    """
    first = receiver.first_opened
    if first is None or first <= receiver.watermark:
        return []
    return [(edge.router, first) for edge in receiver.edges if edge.opened == first]


def _find_newest_in(
    window: Window, current: Mapping[RouterRound, SentMessage]
) -> SentMessage | None:
    sent = current.get((window.router, window.until))
    return sent if sent is not None and sent.round >= window.since else None
