"""A router, with its messages and routing table.

A router is the coordinator of a community.

Source: RecNet 2.2.
"""

from dataclasses import dataclass
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
        """Clients that this message comes from."""
        return frozenset(part.ref for part in self.integrated)

    @property
    def lone_sender(self) -> int | None:
        """The only client that this message comes from.

        None if there are several.
        """
        return next(iter(self.senders)) if len(self.senders) == 1 else None

    @property
    def first_parts(self) -> list[IntegratedAttribute]:
        """The first part of each of the first two senders, which short reads show."""
        first: dict[int, IntegratedAttribute] = {}
        for part in self.integrated:
            if part.ref not in first and len(first) < SENDERS_KEPT:
                first[part.ref] = part
        return list(first.values())


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
