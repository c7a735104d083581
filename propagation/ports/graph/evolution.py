"""The evolution commit: one publication of a new router set.

Source: RecNet 2.4.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from propagation.model import (
    ClientText,
    Epoch,
    EvolutionRun,
    LineageStep,
    Round,
    RouterMap,
    RouterMaps,
    StagedCheckpoint,
)
from propagation.ports.graph.leases import Lease


@dataclass(frozen=True)
class Publication:
    """Everything that an evolution publishes at once.

    Attributes:
        run: The report; its number and sequence are given at publication.
        map: Where weights of the old routers are read from now on.
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

    async def evolution_runs(self, limit: int, before: int | None = None) -> Sequence[EvolutionRun]:
        """Return at most `limit` runs, newest first.

        Args:
            before: Only runs with a smaller number.
        """

    async def router_maps(self) -> RouterMaps:
        """Return the maps of all published runs since the newest bootstrap."""

    async def router_lineage(self) -> Sequence[LineageStep]:
        """Return every step of every published run.

        The steps are ordered by run, then before, then after.
        """

    async def clients_with_rules(
        self, routers: Sequence[int], words: frozenset[str] = frozenset()
    ) -> Sequence[int]:
        """Return clients whose current filter memory names one of these routers.

        Args:
            words: Only clients whose text may hold one of these words, as it is written; none: all.

        Returns:
            Their refs, ascending.
        """
