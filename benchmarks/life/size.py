"""Bytes of the compacted file for each interaction.

The file is measured after a million interactions with the default retention.
"""

import asyncio
from pathlib import Path

from benchmarks.life.states import copy_of
from benchmarks.run import Figures, Run
from benchmarks.service.town import lived_town
from propagation.adapters.sqlite.maintenance.commands import SqliteFiles
from propagation.adapters.sqlite.store import SqliteStore
from propagation.workflow.forget.retention import retain_all
from services.runtime.process import SystemClock


def measure(run: Run) -> Figures:
    """Measure the whole file: clients, texts, messages, vector index and checkpoint."""
    town = lived_town(run.short)
    database = copy_of(town, run)
    dropped = asyncio.run(_retained(database))
    before, after = SqliteFiles(database).compact()
    run.note(
        f"{dropped:,} rows dropped by retention; {before / 1e6:,.0f} MB, compacted"
        f" {after / 1e6:,.0f} MB; {town.users + town.items:,} clients, {town.interactions:,}"
        " interactions"
    )
    yield "file_bytes_per_interaction", after / town.interactions


async def _retained(database: Path) -> int:
    store = SqliteStore(database, SystemClock())
    await store.open()
    try:
        return await retain_all(store)
    finally:
        await store.close()
