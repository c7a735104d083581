"""The outbox: changes that the vector index has yet to take.

While the index is down, searches do not see new changes, but no change is lost.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from propagation.model import Round
from propagation.ports.graph.leases import Lease
from propagation.ports.vector_index import Collection


@dataclass(frozen=True)
class IndexChange:
    """An index point that must be made again from the graph.

    Attributes:
        key: A client's ref, a router's number, or an attribute's name.
        version: The point's version in the graph.
        round: Round that changed the point, e.g. by mapping an attribute to another one; 0 for
            other changes.
    """

    collection: Collection
    key: int | str
    version: int
    round: int = 0


class OutboxStore(Protocol):
    """Queue of index changes, filled by the commits that make them.

    `commit_reasoned`, `commit_texts` and `withdraw` queue every text that they write;
    `publish_round` queues what was staged with the round; `withdraw` also queues the router of
    every message that it changes, as of the round that sent it. The queue holds one change for
    each (collection, key, round): the newest version.
    """

    async def stage_changes(
        self, lease: Lease, round_: Round, changes: Sequence[IndexChange]
    ) -> None:
        """Queue changes with a round; its publication makes them pending.

        All of them count as changes of this round, and are discarded with it.

        Raises:
            LeaseLost: The round's lease has a newer token.
        """

    async def get_pending_changes(self, age_ms: int, limit: int) -> Sequence[IndexChange]:
        """Return at most `limit` changes, the longest pending first.

        Args:
            age_ms: Only changes that were last queued at least this many milliseconds ago, by the
                store's clock.
        """

    async def drop_changes(self, changes: Sequence[IndexChange]) -> None:
        """Remove changes that the index has.

        Newer versions and other rounds stay pending.
        """

    async def count_changes(self) -> int:
        """Count the pending changes."""
