"""Retention: drops old rows that nothing cites.

A row is old if it ended more than 200,000 sequences ago. graph_rules/retention.py has the rules.

Source: docs/design.md, State.
"""

from dataclasses import dataclass

from propagation.ports import GraphStore

KEPT = 200_000
ADVANCE = 50_000
ROWS_A_COMMIT = 2_000


@dataclass
class Retention:
    """Drops old rows in small steps.

    Each run moves the oldest kept sequence up by at least `advance` sequences. Shorter runs would
    cost too much: on Neo4j, and as the first one of a process, a run looks at every client's text,
    however little it drops.

    Attributes:
        kept: How many of the newest sequences are kept.
    """

    store: GraphStore
    kept: int = KEPT
    advance: int = ADVANCE
    _before: int | None = None

    async def step(self) -> int | None:
        """Look at some rows, or drop some; one small read or commit.

        Returns:
            How many rows were dropped; None if no run is due.
        """
        if self._before is None:
            before = await self.store.get_recorded_through() - self.kept
            if before < await self.store.get_oldest_kept() + self.advance:
                return None
            self._before = before
        dropped = await self.store.prune(self._before, ROWS_A_COMMIT)
        if dropped is None:
            self._before = None
        return dropped


async def retain_all(store: GraphStore) -> int:
    """Drop everything past retention in a store that no service uses.

    Returns:
        How many rows were dropped.
    """
    retention, dropped = Retention(store, advance=1), 0
    while (rows := await retention.step()) is not None:
        dropped += rows
    return dropped
