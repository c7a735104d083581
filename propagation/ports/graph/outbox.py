"""The outbox: changes on their way from the graph to the vector index, so that an index that is
down costs freshness and no data."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from propagation.model.routers.round import Round
from propagation.ports.graph.leases import Lease
from propagation.ports.vector_index import Collection


@dataclass(frozen=True)
class IndexChange:
    """A point of the index that has to be made again from the graph, which has `version` of it.
    `round`: 0, or the round that changed what the index holds of it (an attribute was mapped to
    another one, say)."""

    collection: Collection
    key: int | str
    version: int
    round: int = 0


class OutboxStore(Protocol):
    """Put in by the commits that make the change: `commit_reasoned` and `commit_texts` put in every
    text they write, `publish_round` what was staged with the round, `withdraw` every text it
    writes, and the router of every message that reads differently from then on, as of the round
    that sent it. One waits for each (collection, key, round): its newest version."""

    async def stage_changes(
        self, lease: Lease, round_: Round, changes: Sequence[IndexChange]
    ) -> None:
        """Like all that a round stages: they wait from its publication on, as of this round
        whatever they say, and are discarded with it. Raises LeaseLost."""

    async def pending_changes(self, age_ms: int, limit: int) -> Sequence[IndexChange]:
        """At most `limit` of those that were last put in at least `age_ms` ago by the store's
        clock, longest first."""

    async def drop_changes(self, changes: Sequence[IndexChange]) -> None:
        """The index has these. What waits with a newer version, or of another round, stays."""

    async def count_changes(self) -> int:
        """How many wait."""
