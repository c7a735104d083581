"""The commits of a round or an evolution, and their one publication.

Source: RecNet 2.2 and 2.4; Algorithm 1, stage 2.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from propagation.model import (
    Attribute,
    ClientText,
    Epoch,
    EvolutionRun,
    IntegratedAttribute,
    LineageStep,
    Round,
    RouterMap,
    RouterMaps,
    RouterVersion,
    RoutingEdge,
    StagedCheckpoint,
)
from propagation.ports.graph.leases import Lease

POSTPONED_ARRIVALS = "postponed_arrivals"
"""Name of the blob of arrivals that wait for the next round.

The publication of a round replaces the blob.
"""


class RoundStore(Protocol):
    """Rounds with their messages, the routing table, and attributes (RecNet 2.2).

    A round may take many commits, but is published at once: its staged rows are invisible until
    `publish_round`.
    """

    async def get_rounds_after(self, number: int, limit: int) -> Sequence[Round]:
        """Return at most `limit` published rounds with a larger number, in order."""

    async def get_messages_of(self, number: int) -> Sequence[RouterVersion]:
        """Return the kept messages of a published round, by router.

        `integrated` is shortened as in `get_router_versions`.
        """

    async def find_changed_clients(self, after: int, through: int) -> Sequence[int]:
        """Return clients whose text changed in a range of sequences.

        The range is after < sequence <= through.

        Returns:
            Their refs, ascending.
        """

    async def begin_round(self, lease: Lease, boundary: int) -> Round:
        """Discard the staged rows of an unfinished round, and open the next.

        Args:
            boundary: Sequence up to which the round covers text changes.

        Raises:
            LeaseLost: Another process has taken the lease over.
        """

    async def stage_attributes(
        self,
        lease: Lease,
        round_: Round,
        attributes: Sequence[Attribute],
        held: Mapping[int, Sequence[str]],
    ) -> None:
        """Stage attributes for a round; repeating a call changes nothing.

        Args:
            attributes: Attributes that are new, mapped to another one, or counted anew.
            held: Canonical attributes of each changed client, by ref.

        Raises:
            LeaseLost: Another process has taken the lease over.
        """

    async def stage_routers(
        self, lease: Lease, round_: Round, versions: Sequence[RouterVersion]
    ) -> None:
        """Stage new versions of routers for a round.

        Repeating a call changes nothing.

        Raises:
            LeaseLost: Another process has taken the lease over.
        """

    async def stage_edges(
        self,
        lease: Lease,
        round_: Round,
        closed: Sequence[tuple[int, int]],
        opened: Sequence[RoutingEdge],
    ) -> None:
        """Stage changes of the routing table.

        The changes get the round's sequence at publication.

        Args:
            closed: (router, ref) of edges that end.
            opened: Edges that begin.

        Raises:
            LeaseLost: Another process has taken the lease over.
        """

    async def publish_round(
        self, lease: Lease, round_: Round, postponed: bytes | None = None
    ) -> Round:
        """Make everything that is staged visible in one commit.

        Args:
            postponed: Replaces the blob POSTPONED_ARRIVALS; None leaves it as it is.

        Returns:
            The round with the sequence of its log entry.

        Raises:
            LeaseLost: The lease has a newer token; nothing was changed.
        """

    async def get_attributes(self, names: Sequence[str]) -> Mapping[str, Attribute]:
        """Return attributes by normalized name; unknown ones are left out."""

    async def get_all_attributes(self) -> Sequence[Attribute]:
        """Return every attribute by name, including those mapped to another one."""

    async def get_client_attributes(self, refs: Sequence[int]) -> Mapping[int, Sequence[str]]:
        """Return each client's canonical attributes at the last round.

        A new client has ().
        """

    async def get_holders(
        self, attributes: Sequence[str], limit: int
    ) -> Mapping[str, Sequence[int]]:
        """Return at most `limit` holders of each attribute.

        Each call reads the attributes of every client, so ask for many at a time.

        Returns:
            By attribute, the refs of clients that held it at the last round, ascending. Attributes
            without holders are left out.
        """

    async def get_edges(self, refs: Sequence[int]) -> Mapping[int, Sequence[RoutingEdge]]:
        """Return each client's current edges, by descending score, then router."""

    async def get_members(
        self, router: int, limit: int, at: int | None = None
    ) -> Sequence[RoutingEdge]:
        """Return at most `limit` edges of a router.

        They are ordered by descending score, then ref.

        Args:
            at: The edges at this sequence; None: the current ones.
        """

    async def get_edges_to(self, routers: Sequence[int]) -> Sequence[RoutingEdge]:
        """Return all current edges of these routers, in any order."""

    async def count_members(
        self, routers: Sequence[int], at: int | None = None
    ) -> Mapping[int, int]:
        """Count the edges of each router (see `get_members`).

        Routers without any edge are left out.
        """

    async def get_router_versions(
        self, routers: Sequence[int], at: int | None = None
    ) -> Sequence[RouterVersion]:
        """Return the newest published version of each router, by router.

        A router without a version since the newest bootstrap is left out, because its number stood
        for another community before. `integrated` is shortened to one part of each of at most two
        senders, which is enough to tell whether a message comes from one client alone.

        Args:
            at: The newest versions at this sequence; None: now.
        """

    async def get_version_numbers(self, routers: Sequence[int]) -> Mapping[int, int]:
        """Return the newest version number of each router with a version.

        A bootstrap does not reset these numbers.
        """

    async def get_router_history(
        self, router: int, limit: int, before: int | None = None
    ) -> Sequence[RouterVersion]:
        """Return at most `limit` published versions of a router, newest first.

        Those before a bootstrap count, too. `integrated` is shortened as in `get_router_versions`.

        Args:
            before: Only versions with a smaller number.
        """

    async def get_router_version(self, router: int, version: int) -> RouterVersion | None:
        """Return one published version, whole; None if it is unknown or dropped."""

    async def get_messages(
        self, keys: Sequence[tuple[int, int]], senders: int
    ) -> Mapping[tuple[int, int], RouterVersion]:
        """Return published versions by (router, version); unknown ones are left out.

        Args:
            senders: Shorten `integrated` to one part of each of this many clients, those with the
                lowest refs.
        """

    async def get_parts_carrying(
        self, keys: Sequence[tuple[int, int]], attributes: Sequence[str], except_ref: int
    ) -> Mapping[tuple[int, int], Sequence[IntegratedAttribute]]:
        """Return the parts of messages that carry one of these attributes.

        Args:
            keys: Published versions (router, version).
            except_ref: A client whose parts are left out.

        Returns:
            By (router, version), the parts in the order of the message. Messages without such parts
            are left out.
        """

    async def get_contributions(self, ref: int, limit: int) -> Sequence[RouterVersion]:
        """Return at most `limit` messages with a part of this client.

        The newest round comes first.

        `integrated` holds the client's parts only.
        """


@dataclass(frozen=True)
class Publication:
    """Everything that an evolution publishes at once.

    Attributes:
        run: The report; its number and sequence are given at publication.
        map: The map through which weights of the old routers are read from now on.
        epoch: The new epoch; its sequence is given at publication.
        round_: An unpublished round with the staged versions of changed routers, and the changes
            of the routing table.
        start: The barrier, staged under the learner's lease.
        texts: Next versions of clients whose filter rules follow the routers.
    """

    run: EvolutionRun
    map: RouterMap
    epoch: Epoch
    round_: Round
    start: StagedCheckpoint
    texts: Sequence[ClientText] = ()

    def get_published_run(self, sequence: int) -> EvolutionRun:
        """Return the report of the run as published at a sequence."""
        return self.run.model_copy(
            update={
                "sequence": sequence,
                "published": True,
                "epoch": self.epoch.number,
                "round": self.round_.number,
            }
        )


class EvolutionStore(Protocol):
    """Evolution runs, router maps and lineage (RecNet 2.4)."""

    async def publish_evolution(
        self, learn: Lease, round_lease: Lease, publication: Publication
    ) -> EvolutionRun:
        """Publish an evolution and free the interactions of all claims.

        Both happen in one commit.

        Returns:
            The run with its number, sequence, epoch and time.

        Raises:
            LeaseLost: One of the leases has a newer token; nothing was changed.
            VersionClash: A text has another version by now; nothing was changed.
        """

    async def save_evolution(self, run: EvolutionRun) -> EvolutionRun:
        """Store the report of a run that was not published.

        Returns:
            The run with its number and time.
        """

    async def get_evolution_runs(
        self, limit: int, before: int | None = None
    ) -> Sequence[EvolutionRun]:
        """Return at most `limit` runs, newest first.

        Args:
            before: Only runs with a smaller number.
        """

    async def get_evolution_runs_at(self, sequences: Sequence[int]) -> Sequence[EvolutionRun]:
        """Return the runs that were published at these sequences, oldest first.

        Sequences at which no run was published are left out.
        """

    async def get_router_maps(self) -> RouterMaps:
        """Return the maps of all published runs since the newest bootstrap."""

    async def get_router_lineage(self) -> Sequence[LineageStep]:
        """Return every step of every published run.

        The steps are ordered by run, then before, then after.
        """

    async def get_clients_with_rules(self, routers: Sequence[int]) -> Sequence[int]:
        """Return clients whose current filter memory names one of these routers.

        Returns:
            Their refs, ascending.
        """
