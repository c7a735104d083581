"""A router with its messages and routing table; epochs and rounds.

A router is the coordinator of a community. An epoch is the life of one set of routers, from a
bootstrap or a published evolution to the next.

Source: RecNet 2.2.
"""

from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

from propagation.model.base import Term, value

SENDERS_KEPT = 2
"""How many senders are stored with a message, apart from all of its parts."""


@value
class IntegratedAttribute:
    """One attribute that a client's profile version brought to a router.

    Source: RecNet eq. 2.
    """

    attribute: str
    ref: int
    profile_version: int
    sequence: int


@dataclass(unsafe_hash=True)
class RouterVersion:
    """A router's profile after one round, which is also its message.

    The round wrote it (eq. 3), and the router multicast it (eq. 4).

    Stored once and found by its receivers. Immutable like every value (see base.py), but without
    slots, so that `senders` is computed once.

    Attributes:
        name: Unlike those of all other current routers; "" if it stands for nothing.
        attributes: A_R: what was integrated in this round.
        standing: (attribute, weight) of everything that the router stands for.
        integrated: Parts that clients brought in this round.
        sequence: Of the round's log entry.
        written_by: Prompts that a language model answered for it, or the fallback that answered
            instead (Usage.author); "" for the offline reasoner.
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

        A message that was read in brief names only some of them.
        """
        return frozenset(part.ref for part in self.integrated)

    @property
    def lone_sender(self) -> int | None:
        """The only client that this message comes from.

        None if there are several.
        """
        return find_lone_sender(self.senders)

    @property
    def first_parts(self) -> list[IntegratedAttribute]:
        """The first parts of the first two senders, for short reads."""
        first: dict[int, IntegratedAttribute] = {}
        for part in self.integrated:
            first.setdefault(part.ref, part)
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
        from_sequence: Sequence of the round that opened it.
    """

    router: int
    ref: int
    score: float
    from_sequence: int


class MessageReach(Term):
    """The fate of one router's messages at their receivers.

    Each message counts once for each client.

    Attributes:
        clients: Distinct clients that merged one.
        merged: Merged into a profile.
        filtered: Refused by a filter rule.
        empty: Without anything for this client.
        fell_out: Fallen out of a full buffer.
    """

    router: int
    clients: int
    merged: int
    filtered: int
    empty: int
    fell_out: int


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
        session_k: Session routers.
        taste_k: Taste routers that it opened with, retired ones included.
        tau: Threshold of eq. 4, fixed at its opening; None until the semantic policy needs it.
        era: Epoch of the bootstrap that it descends from; its own number for a bootstrap's.
    """

    number: int
    sequence: int
    session_k: int
    taste_k: int
    tau: float | None = None
    embedder: str = ""
    era: int = 0


def is_since_bootstrap(epoch: int, era: int) -> bool:
    """Tell whether an epoch is not older than a bootstrap.

    Args:
        era: The epoch of the bootstrap.
    """
    return epoch >= era


class Round(Term):
    """A round, and what it did.

    Attributes:
        boundary: It covers profile versions written for interactions up to this sequence.
        sequence: Its own place in the log; 0 until it is published.
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
