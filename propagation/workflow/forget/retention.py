"""Retention: rows that ended more than 200,000 sequences ago and that nothing cites are dropped.

Source: docs/design.md, State.
"""

from propagation.ports import GraphStore

KEPT = 200_000
STEP = 50_000
ROWS_A_COMMIT = 2_000


class Retention:
    """Drops old rows in small steps.

    A run moves `oldest_kept` up by at least STEP sequences, because it looks at every client's
    text, however little is dropped.
    """

    def __init__(self, store: GraphStore, kept: int = KEPT, step: int = STEP) -> None:
        self._store = store
        self._kept = kept
        self._step = step
        self._before: int | None = None

    async def step(self) -> int | None:
        """Look at some rows, or drop some; one small read or commit.

        Returns:
            How many rows were dropped; None if no run is due.
        """
        if self._before is None:
            before = await self._store.recorded_through() - self._kept
            if before < await self._store.oldest_kept() + self._step:
                return None
            self._before = before
        dropped = await self._store.prune(self._before, ROWS_A_COMMIT)
        if dropped is None:
            self._before = None
        return dropped


async def retain_all(store: GraphStore) -> int:
    """Drop everything past retention in a store that no service holds; return how many rows."""
    retention, dropped = Retention(store, step=1), 0
    while (rows := await retention.step()) is not None:
        dropped += rows
    return dropped
