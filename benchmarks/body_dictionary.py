"""Train the dictionaries that compress bodies of profile versions, on generated towns.

Run `python -m benchmarks.body_dictionary bodies FILE`, or with `differences` for the dictionary of
differences between versions. A released dictionary is never replaced
(propagation/adapters/shared/text_bodies.py).
"""

import asyncio
import sqlite3
import sys
import tempfile
from contextlib import closing
from itertools import pairwise
from pathlib import Path

import orjson
import zstandard

from propagation.adapters.shared.text_bodies import decompress_body, read_parts
from propagation.adapters.shared.versions.text_differences import find_difference
from propagation.datasets.generated_town import generate_town
from propagation.model import ClientText, Profile
from services.assembly import build_engine
from services.cli.research.datasets import check_events
from services.config.settings import Settings
from services.runtime.kernel_cache import use_kernel_cache

SEEDS, EVENTS, BATCH = (1, 2, 3), 3_000, 500
BYTES = 12_288
EVERY = 7


def bodies(seed: int) -> list[bytes]:
    """Return all profile versions of a replayed town, as JSON."""
    return [decompress_body(body) for *_, body in _versions(seed)]


def differences(seed: int) -> list[bytes]:
    """Return each version's difference to the one before it, as JSON."""
    return [
        orjson.dumps(find_difference(before, after))
        for before, after in pairwise(map(_build_text, sorted(_versions(seed))))
        if (after.profile.ref, after.profile.version)
        == (before.profile.ref, before.profile.version + 1)
    ]


def _versions(seed: int) -> list[tuple[int, int, bytes]]:
    """Replay a town; return ref, version and body in commit order."""
    with tempfile.TemporaryDirectory() as folder:
        database = Path(folder) / "town.db"
        asyncio.run(_replayed(database, seed))
        with closing(sqlite3.connect(database)) as connection:
            return [
                (ref, version, body)
                for ref, version, body in connection.execute(
                    "SELECT ref, version, body FROM profile_version ORDER BY rowid"
                )
            ]


def _build_text(row: tuple[int, int, bytes]) -> ClientText:
    ref, version, body = row
    lines, memory = read_parts(body)
    return ClientText(Profile(ref=ref, version=version, lines=lines), filter_memory=memory)


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
    list_samples = {"bodies": bodies, "differences": differences}[sys.argv[1]]
    samples = [sample for seed in SEEDS for sample in list_samples(seed)[::EVERY]]
    trained = zstandard.train_dictionary(BYTES, [*samples], level=3)
    Path(sys.argv[2]).write_bytes(trained.as_bytes())
    print(
        f"{len(samples):,} {sys.argv[1]} of {sum(map(len, samples)) // len(samples):,} bytes; "
        f"dictionary of {len(trained):,} bytes"
    )
