"""A routing policy: which routers hear of a change, and whom they reach. One interface for all of
them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from propagation.model.routers.router import RouterVersion


@dataclass(frozen=True)
class Arrival:
    """An attribute that is new or changed in a client's profile, with the interaction it came from
    (sequence 0: none, it is the client's own text)."""

    attribute: str
    ref: int
    profile_version: int
    sequence: int


@dataclass(frozen=True)
class Table:
    """A part of the routing table as it should be now: scores by (router, ref), complete for the
    named clients or for the named routers (the other is empty)."""

    scores: Mapping[tuple[int, int], float]
    clients: Sequence[int] = ()
    routers: Sequence[int] = ()


class Perceiving(Protocol):
    """Where changes go."""

    async def perceive(self, arrivals: Sequence[Arrival]) -> Sequence[Sequence[int]]:
        """The routers each arrival goes to, in its order (eq. 2, or the policy's own reading); none
        where nothing is known."""


class RoutingPolicy(Perceiving, Protocol):
    @property
    def name(self) -> str: ...

    @property
    def summarises(self) -> bool:
        """Whether routers integrate by eq. 3; otherwise the client's profile itself is the message."""

    async def route(self, changed: Sequence[int], versions: Sequence[RouterVersion]) -> Table:
        """The routing table after this round's router versions (eq. 4, or the policy's own
        reading)."""
