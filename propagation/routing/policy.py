"""Interface of a routing policy.

A policy decides where attributes go, and which clients routers reach.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import orjson

from propagation.model import RouterVersion
from propagation.routing.routing_table import RoutingTable


@dataclass(frozen=True)
class Arrival:
    """An attribute that is new or changed in a client's profile.

    Attributes:
        sequence: Of the interaction that it came from; 0 for the client's own text.
    """

    attribute: str
    ref: int
    profile_version: int
    sequence: int


ArrivalsByRouter = Mapping[int, Sequence[Arrival]]


@dataclass(frozen=True)
class PostponedArrivals:
    """Arrivals at routers whose summary failed; they wait for the next round.

    Attributes:
        epoch: The epoch to which the routers' numbers belong.
        groups: The arrivals by router.
    """

    epoch: int = 0
    groups: ArrivalsByRouter = field(default_factory=dict)

    @classmethod
    def unpack(cls, blob: bytes | None) -> "PostponedArrivals":
        """Read what `pack` wrote; None means that nothing waits."""
        if blob is None:
            return cls()
        epoch, rows = orjson.loads(blob)
        return cls(epoch, {router: [Arrival(*row) for row in group] for router, group in rows})

    def pack(self) -> bytes:
        """Pack the arrivals for the store."""
        rows = [
            (router, [(a.attribute, a.ref, a.profile_version, a.sequence) for a in group])
            for router, group in self.groups.items()
        ]
        return orjson.dumps((self.epoch, rows))

    def keep_only(self, keep: Callable[[Arrival], bool]) -> "PostponedArrivals":
        """Return the arrivals that `keep` accepts; leave out routers without any."""
        groups = {router: list(filter(keep, group)) for router, group in self.groups.items()}
        return PostponedArrivals(
            self.epoch, {router: group for router, group in groups.items() if group}
        )


@dataclass(frozen=True)
class UpdatedRouters:
    """New versions of the routers of a round, and the failures.

    Attributes:
        failed: Why the other routers failed, by router.
    """

    versions: list[RouterVersion] = field(default_factory=list)
    failed: dict[int, str] = field(default_factory=dict)


class Perception(Protocol):
    """Finds the routers that attributes go to."""

    async def perceive(self, arrivals: Sequence[Arrival]) -> Sequence[Sequence[int]]:
        """Find the routers of each arrival.

        The rule is eq. 2 or the policy's own.

        Returns:
            Routers for each arrival, in order; none for an arrival of which nothing is known.
        """


class RoutingPolicy(Perception, Protocol):
    """A way to route; workflow/rounds/policies.py has a table of all policies."""

    async def route(
        self, changed: Sequence[int], versions: Sequence[RouterVersion]
    ) -> RoutingTable:
        """Build the routing table after a round.

        The rule is eq. 4 or the policy's own.

        Args:
            changed: Refs of the clients that changed since the last round.
            versions: The routers' versions of this round.
        """

    async def measure(self) -> None:
        """Measure again what the policy measures of the data.

        Called when the index is rebuilt.
        """
