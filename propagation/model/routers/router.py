"""A router with its messages and routing table; epochs and rounds.

A router is the coordinator of a community. An epoch is the life of one set of routers, from a
bootstrap or a published evolution to the next.

Source: RecNet 2.2.
"""

from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import NamedTuple

from propagation.grouping import keep_first
from propagation.model.base import Term, value

SENDERS_KEPT = 2
"""How many senders are stored with a message, besides its full parts."""


@value
class IntegratedAttribute:
    """One attribute that a client's profile version brought to a router.

    Attributes:
        ref: The client.
        sequence: The interaction that the attribute came from; 0 for the client's own text.

    Source: RecNet eq. 2.
    """

    attribute: str
    ref: int
    profile_version: int
    sequence: int


@dataclass(unsafe_hash=True)
class RouterVersion:
    """A router's profile after one round, which is also its message.

    The round wrote it (eq. 3), and the router multicast it (eq. 4). The message is stored once, and
    its receivers find it.

    The class is immutable like every value (see base.py), but has no slots, so that `senders` is
    computed once.

    Attributes:
        name: Differs from the names of all other current routers; "" if the router stands for
            nothing.
        attributes: A_R: the attributes that were integrated in this round.
        standing: (attribute, weight) of everything that the router stands for.
        integrated: Parts that clients brought in this round.
        sequence: Sequence of the round's log entry.
        written_by: Prompts that a language model answered for this version, or the fallback that
            answered instead (Usage.author); `summarize:NAME` if the reasoner NAME wrote this text
            alone; "" for the offline reasoner.
    """

    router: int
    version: int
    round: int
    epoch: int
    name: str
    text: str
    attributes: tuple[str, ...] = ()
    standing: tuple[tuple[str, float], ...] = ()
    integrated: tuple[IntegratedAttribute, ...] = ()
    sequence: int = 0
    written_by: str = ""

    @cached_property
    def senders(self) -> frozenset[int]:
        """Clients that the message's parts come from.

        A message that was read with `integrated` shortened has only some of them.
        """
        return frozenset(part.ref for part in self.integrated)

    @property
    def lone_sender(self) -> int | None:
        """The only client that this message comes from.

        None if there are several, or none.
        """
        return find_lone_sender(self.senders)

    @property
    def first_parts(self) -> list[IntegratedAttribute]:
        """One part of each of the first two senders, for short reads."""
        first = keep_first((part.ref, part) for part in self.integrated)
        return list(first.values())[:SENDERS_KEPT]


def find_lone_sender(senders: frozenset[int]) -> int | None:
    """Return the only sender of a message.

    Returns:
        None if there are several, or none.
    """
    return next(iter(senders)) if len(senders) == 1 else None


@value
class RoutingEdge:
    """A row of the routing table.

    Attributes:
        score: Cosine, pi or lift, by policy.
        from_sequence: Sequence of the round that opened the edge.
    """

    router: int
    ref: int
    score: float
    from_sequence: int


class MessageReach(Term):
    """The fate of one router's messages at their receivers.

    Each message counts once for each client.

    Attributes:
        clients: Distinct clients that merged at least one message.
        merged: Messages that were merged into a profile.
        filtered: Messages that a filter rule refused.
        empty: Messages that held nothing for the client.
        fell_out: Messages that fell out of a full buffer.
    """

    router: int
    clients: int
    merged: int
    filtered: int
    empty: int
    fell_out: int


class MessageFate(NamedTuple):
    """The fate of one message at its receivers, by the kept merges.

    Attributes:
        merged: Clients that merged it.
        filtered: Clients whose filter rules refused it.
        empty: Clients for which it held nothing.
        fell_out: Clients whose full buffer it fell out of.
        other: Clients that read it and kept nothing for another reason.
        first: The first clients (refs) that merged it, by ref; not all of them.
    """

    merged: int = 0
    filtered: int = 0
    empty: int = 0
    fell_out: int = 0
    other: int = 0
    first: tuple[int, ...] = ()


class BankName(StrEnum):
    """The two banks of routers.

    Only taste routers have profiles and send messages.
    """

    SESSION = "session"
    TASTE = "taste"


class Epoch(Term):
    """A router set.

    Attributes:
        sequence: Sequence at which it opened.
        session_k: Number of session routers.
        taste_k: Number of taste routers at its opening, retired ones included.
        tau: Threshold of eq. 4; None until the semantic policy has measured it.
        era: Epoch of the bootstrap that this epoch descends from; its own number if a bootstrap
            opened it.
    """

    number: int
    sequence: int
    session_k: int
    taste_k: int
    tau: float | None = None
    embedder: str = ""
    era: int = 0


def is_since_bootstrap(epoch: int, era: int) -> bool:
    """Tell whether an epoch began with a bootstrap or after it.

    Args:
        era: The epoch of the bootstrap.
    """
    return epoch >= era


class Round(Term):
    """A round, and what it did.

    Attributes:
        boundary: The round covers profile versions with sequences up to this one.
        sequence: The round's own place in the log; 0 until it is published.
        changed: Clients whose attributes changed.
        touched: Routers that got a new version.
        reached: Clients that a new message reaches.
    """

    number: int
    boundary: int
    sequence: int = 0
    changed: int = 0
    touched: int = 0
    edges_opened: int = 0
    edges_closed: int = 0
    reached: int = 0
