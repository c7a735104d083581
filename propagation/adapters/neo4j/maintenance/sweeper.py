"""Deletes what commits have dropped, in batches that fit the server's memory.

A commit makes nodes invisible, by a label or by a missing relationship; the sweep deletes them
later. After a crash, the next sweep deletes the rest.
"""

import asyncio

from propagation.adapters.neo4j.connection import Neo4jDatabase, StorePart
from propagation.model import Module

LARGE_ROWS, SMALL_ROWS = 16, 2_000
"""Rows per commit, large and small ones.

A large row has about a MiB; a small one has some properties and relationships.
"""
SWEEPS = {
    "maintenance/sweep/delete_checkpoint_pieces": LARGE_ROWS,
    "maintenance/sweep/delete_trust": LARGE_ROWS,
    "maintenance/sweep/delete_blocks": LARGE_ROWS,
    "maintenance/sweep/delete_interactions": SMALL_ROWS,
    "maintenance/sweep/delete_texts": SMALL_ROWS,
}
CLIENT_MODULES = [Module.PROFILE.value, Module.FILTER_MEMORY.value]


class Neo4jSweeper(StorePart):
    """Runs sweeps, one at a time in this process.

    Locks on the server keep the sweeps of several processes apart.
    """

    def __init__(self, database: Neo4jDatabase) -> None:
        super().__init__(database)
        self._sweeping = asyncio.Lock()

    async def sweep(self) -> None:
        """Delete everything that commits dropped, and gradients of forgotten clients' modules."""
        async with self._sweeping:
            if refs := await self._database.value("forget/wiping/pending_clients"):
                await self._delete_all(
                    "maintenance/sweep/delete_gradients_of_client",
                    SMALL_ROWS,
                    refs=refs,
                    modules=CLIENT_MODULES,
                )
            for name, limit in SWEEPS.items():
                await self._delete_all(name, limit)

    def sweep_after_commit(self) -> None:
        """Sweep in the background."""
        self._database.after_commit.start("sweeping", self.sweep)

    async def _delete_all(self, name: str, limit: int, **parameters: object) -> None:
        deleted = limit
        while deleted >= limit:  # a batch that is not full is the last one
            deleted = await self._database.write(
                lambda transaction: transaction.value(name, limit=limit, **parameters)
            )
