"""A router: the coordinator of a community (RecNet 2.2), its versions, its messages and its routing
table."""

from dataclasses import dataclass
from functools import cached_property

from propagation.model.base import Term, value

FIRST_SENDER = 1 << 20


def sender_router(ref: int) -> int:
    """Return the router number of a client that sends its own profile (point-to-point).

    It is above every router of a bank.
    """
    return FIRST_SENDER + ref


@value
class IntegratedAttribute:
    """One attribute that one client's profile version brought to a router (eq. 2)."""

    attribute: str
    ref: int
    profile_version: int
    sequence: int


@dataclass(unsafe_hash=True)
class RouterVersion:
    """A router's profile as one round left it (eq. 3). It is also the message that the round
    multicast (eq. 4): stored once, found by its receivers. `attributes` is A_R: what was integrated
    in this round. `written_by`: the prompts that a language model answered for it, or who stood in
    (Usage.author); "" for the offline reasoner. Not to be changed, like every value (see value.py;
    without slots, so that `senders` is worked out once)."""

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
        """The clients this message comes from."""
        return frozenset(part.ref for part in self.integrated)


@value
class RoutingEdge:
    """A row of the routing table: ROUTES_TO {score, from, until}. Sequences; `until` None while it
    stands."""

    router: int
    ref: int
    score: float
    from_sequence: int


class MessageReach(Term):
    """Of the merges of one router's messages that were asked for and are kept: distinct `clients`
    that merged one into their profile, and what became of messages at their receivers, one count a
    message and client: merged, refused by a filter rule, empty for this client, or fallen out of a
    full buffer."""

    router: int
    clients: int
    merged: int
    filtered: int
    empty: int
    fell_out: int
