"""The round's commits: many, but one publication (DESIGN, The graph)."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from propagation.model.clients.attribute import Attribute
from propagation.model.routers.round import Round
from propagation.model.routers.router import IntegratedAttribute, RouterVersion, RoutingEdge
from propagation.ports.graph.leases import Lease


class RoundStore(Protocol):
    async def last_round(self) -> Round | None:
        """The newest published round."""

    async def last_rounds(self, limit: int) -> Sequence[Round]:
        """The newest published rounds, at most `limit`, the newest last."""

    async def rounds_after(self, number: int, limit: int) -> Sequence[Round]:
        """At most `limit` published rounds of a larger number, in order."""

    async def messages_of(self, number: int) -> Sequence[RouterVersion]:
        """What a published round sent and retention has kept, by router; `integrated` is shortened,
        see `router_versions`."""

    async def changed_clients(self, after: int, through: int) -> Sequence[int]:
        """Refs, ascending, of clients with a profile version written for a sequence in (after,
        through]."""

    async def begin_round(self, lease: Lease, boundary: int) -> Round:
        """Discard what an unfinished round staged, and open the next one."""

    async def stage_attributes(
        self,
        lease: Lease,
        round_: Round,
        attributes: Sequence[Attribute],
        held: Mapping[int, Sequence[str]],
    ) -> None:
        """Attributes that are new, mapped or counted anew, and the canonical ones that each changed
        client now holds."""

    async def stage_routers(
        self, lease: Lease, round_: Round, versions: Sequence[RouterVersion]
    ) -> None: ...

    async def stage_edges(
        self,
        lease: Lease,
        round_: Round,
        closed: Sequence[tuple[int, int]],
        opened: Sequence[RoutingEdge],
    ) -> None:
        """Edges to close, by (router, ref), and to open; their sequences become the round's own at
        publication."""

    async def publish_round(self, lease: Lease, round_: Round) -> Round:
        """Everything staged becomes visible at once, at the sequence of the round's log entry.
        Raises LeaseLost."""

    async def get_attributes(self, names: Sequence[str]) -> Mapping[str, Attribute]: ...

    async def all_attributes(self) -> Sequence[Attribute]:
        """Every attribute by name, those that were mapped to another one too."""

    async def client_attributes(self, refs: Sequence[int]) -> Mapping[int, Sequence[str]]:
        """What each client held at the last round; () where it took part in none."""

    async def holders_of(self, attribute: str, limit: int) -> Sequence[int]:
        """Refs of the clients that held a canonical attribute at the last round, ascending."""

    async def edges_of(self, refs: Sequence[int]) -> Mapping[int, Sequence[RoutingEdge]]:
        """Each client's standing edges, by descending score, then router."""

    async def members_of(
        self, router: int, limit: int, at: int | None = None
    ) -> Sequence[RoutingEdge]:
        """A router's edges that stand, or stood `at` a sequence, by descending score, then ref."""

    async def edges_to(self, routers: Sequence[int]) -> Sequence[RoutingEdge]:
        """All standing edges of these routers, in no order."""

    async def count_members(
        self, routers: Sequence[int], at: int | None = None
    ) -> Mapping[int, int]:
        """How many such edges each of these routers has; routers without any are left out."""

    async def waiting_messages(
        self, refs_after: Mapping[int, int], through: int | None = None
    ) -> Mapping[int, Sequence[RouterVersion]]:
        """For each client and its watermark (a round): the messages that reach it, newest round
        first, at most one a router, of rounds up to `through` (default: the last one; a reader that
        then stores a watermark gives it). Those are the newest versions of routers whose edge
        covered the client when they were sent and that are newer than its watermark, or that were
        current when its first edge opened; what comes from the client alone was not sent to it, and
        supersedes nothing. `integrated` is shortened, see `router_versions`."""

    async def router_versions(
        self, routers: Sequence[int], at: int | None = None
    ) -> Sequence[RouterVersion]:
        """The newest published version of each router (`at` a sequence: the newest then), by
        router; none of one that has said nothing since the newest bootstrap: it was another
        community. `integrated` is shortened to one part of each of at most two senders: enough to
        say whether a message comes from one client alone."""

    async def version_numbers(self, routers: Sequence[int]) -> Mapping[int, int]:
        """The newest published version's number of each router that ever said something; bootstraps
        do not begin it anew."""

    async def router_version(self, router: int, version: int) -> RouterVersion | None:
        """One published version, whole; None where there is none, or where retention dropped it."""

    async def messages(
        self, keys: Sequence[tuple[int, int]], senders: int
    ) -> Mapping[tuple[int, int], RouterVersion]:
        """Published versions by (router, version); those that are not there are left out.
        `integrated` is shortened to one part of each of at most `senders` clients, the lowest refs.
        """

    async def parts_carrying(
        self, keys: Sequence[tuple[int, int]], attributes: Sequence[str], but: int
    ) -> Mapping[tuple[int, int], Sequence[IntegratedAttribute]]:
        """Of published versions by (router, version): what they were integrated from of these
        attributes, in order, but by the client `but`; those without are left out."""

    async def contributions(self, ref: int, limit: int) -> Sequence[RouterVersion]:
        """Messages that carry an attribute this client brought, newest round first; `integrated`
        holds its parts only."""
