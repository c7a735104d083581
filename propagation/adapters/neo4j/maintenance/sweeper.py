"""What was dropped, replaced or taken back goes in parts that the server's memory takes: a commit
makes it invisible, by a label or by what it hangs on, and sweeping removes it afterwards. What a
crash leaves goes with the next sweep."""

import asyncio

from propagation.adapters.neo4j.connection.database import Neo4jDatabase
from propagation.model.clients.gradient import Module

BIG, SMALL = 16, 2_000
"""Rows a commit: of a MiB each, and of some properties and relationships."""
SWEEPS = {
    "maintenance/sweep/delete_checkpoint_pieces": BIG,
    "maintenance/sweep/delete_trust": BIG,
    "maintenance/sweep/delete_blocks": BIG,
    "maintenance/sweep/delete_interactions": SMALL,
    "maintenance/sweep/delete_texts": SMALL,
}
OF_CLIENTS = [Module.PROFILE.value, Module.FILTER_MEMORY.value]


class Sweeping:
    """One sweep at a time in this process; the server keeps those of several processes apart."""

    def __init__(self, database: Neo4jDatabase) -> None:
        self._database = database
        self._one = asyncio.Lock()

    async def sweep(self) -> None:
        """Until nothing is left."""
        async with self._one:
            for ref in await self._database.value("forget/wiping/pending_clients") or ():
                await self._all_of(
                    "maintenance/sweep/delete_gradients_of_client",
                    SMALL,
                    ref=ref,
                    modules=OF_CLIENTS,
                )
            for name, limit in SWEEPS.items():
                await self._all_of(name, limit)

    def sweep_after_commit(self) -> None:
        """The same, while the caller goes on."""
        self._database.after_commit("sweeping", self.sweep)

    async def _all_of(self, name: str, limit: int, **parameters: object) -> None:
        while await self._database.write(
            lambda transaction: transaction.value(name, limit=limit, **parameters)
        ):
            pass
