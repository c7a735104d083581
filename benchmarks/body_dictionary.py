"""Train the dictionary that compresses bodies of profile versions, on generated towns.

Run `python -m benchmarks.body_dictionary FILE`. A released dictionary is never replaced
(propagation/adapters/shared/text_bodies.py).
"""

import asyncio
import sqlite3
import sys
import tempfile
from contextlib import closing
from pathlib import Path

import zstandard

from propagation.adapters.shared.text_bodies import decompress_body
from propagation.datasets.generated_town import generate_town
from services.assembly import build_engine
from services.cli.research.datasets import check_events
from services.config.settings import Settings
from services.runtime.kernel_cache import use_kernel_cache

SEEDS, EVENTS, BATCH = (1, 2, 3), 3_000, 500
BYTES = 12_288
EVERY = 7


def bodies(seed: int) -> list[bytes]:
    """Return all profile versions of a replayed town, as JSON."""
    with tempfile.TemporaryDirectory() as folder:
        database = Path(folder) / "town.db"
        asyncio.run(_replayed(database, seed))
        with closing(sqlite3.connect(database)) as connection:
            return [
                decompress_body(body)
                for (body,) in connection.execute("SELECT body FROM profile_version ORDER BY rowid")
            ]


async def _replayed(database: Path, seed: int) -> None:
    engine = build_engine(Settings(database=database))
    await engine.open()
    try:
        dataset = generate_town(seed=seed).dataset.first(EVENTS)
        await engine.upsert_clients(list(dataset.clients))
        events = list(check_events(dataset.events))
        for start in range(0, len(events), BATCH):
            await engine.record(events[start : start + BATCH])
            await engine.drain()
    finally:
        await engine.close()


if __name__ == "__main__":
    use_kernel_cache()
    samples = [body for seed in SEEDS for body in bodies(seed)[::EVERY]]
    trained = zstandard.train_dictionary(
        BYTES, list[bytes | bytearray | memoryview[int]](samples), level=3
    )
    Path(sys.argv[1]).write_bytes(trained.as_bytes())
    print(
        f"{len(samples):,} bodies of {sum(map(len, samples)) // len(samples):,} bytes; "
        f"dictionary of {len(trained):,} bytes"
    )
