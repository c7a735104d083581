"""Database files that the engine makes once, for later runs.

Run `python -m benchmarks.life.states FILE USERS ITEMS EVENTS TEXTS`. A file's name has the sizes,
and a digest of the sources that decide what the file holds, so that a stale file is never used.
Every interaction is learned. Only the last TEXTS interactions are reasoned, because a million would
take a quarter of an hour; the others are marked as reasoned.
"""

import asyncio
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Awaitable, Callable
from contextlib import closing
from hashlib import blake2b
from itertools import islice
from pathlib import Path

from benchmarks.run import Run
from benchmarks.service.town import Town, pairs_of, read_clients
from propagation.model import NewInteraction
from propagation.v1 import propagation_pb2 as pb
from propagation.workflow.engine import Engine
from services.assembly import build_engine
from services.config.settings import Settings
from services.grpc.requests import parse_interaction
from services.runtime.kernel_cache import use_kernel_cache

ROOT = Path(__file__).parent.parent.parent
SOURCES = (
    "benchmarks/service/town.py",
    "benchmarks/life/states.py",
    "propagation/numbers/**/*.py",
    "propagation/adapters/sqlite/schema.sql",
    "propagation/adapters/offline/embedder.py",
    "propagation/workflow/bootstrap/stage0.py",
)
PART = 5_000


def copy_of(town: Town, run: Run) -> Path:
    """Return a copy of the town's database file, for a caller's changes.

    The file is built first if it is missing.
    """
    kept = run.states / f"town-{town.users}-{town.items}-{town.interactions}-{_digest(town)}.db"
    if not kept.exists():
        run.note(f"building {kept.name}")
        building = run.scratch / kept.name
        subprocess.run(
            [
                sys.executable,
                "-m",
                "benchmarks.life.states",
                str(building),
                str(town.users),
                str(town.items),
                str(town.interactions),
                str(town.texts),
            ],
            check=True,
        )
        building.rename(kept)
    copy = run.scratch / f"{len(list(run.scratch.iterdir()))}-{kept.name}"
    shutil.copyfile(kept, copy)
    return copy


def build(path: Path, town: Town) -> None:
    """Record and learn all events, reason the last ones, run due rounds."""
    asyncio.run(_with_engine(path, lambda engine: _learned(engine, town)))
    _mark_reasoned(path, town.texts)
    asyncio.run(_with_engine(path, Engine.drain))
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


async def _with_engine(path: Path, work: Callable[[Engine], Awaitable[object]]) -> None:
    engine = build_engine(Settings(database=path))
    await engine.open()
    try:
        await work(engine)
    finally:
        await engine.close()


async def _learned(engine: Engine, town: Town) -> None:
    clients = read_clients(town)
    while part := list(islice(clients, PART)):
        await engine.upsert_clients(part)
    await _everything_learned(engine)
    pairs = pairs_of(town, town.interactions, town.seed).tolist()
    for start in range(0, len(pairs), PART):
        await engine.record(
            [_event(start + place, *pair) for place, pair in enumerate(pairs[start : start + PART])]
        )
    await _everything_learned(engine)


async def _everything_learned(engine: Engine) -> None:
    while await engine.learn():
        pass


def _event(number: int, user: int, item: int) -> NewInteraction:
    return parse_interaction(
        pb.Interaction(event_id=f"past-{number}", user_id=f"u{user}", item_id=f"i{item}"), 0
    )


def _mark_reasoned(path: Path, but_the_last: int) -> None:
    """Mark interactions as reasoned, by rows without a reward.

    Args:
        but_the_last: How many of the newest sequences are left to be reasoned.
    """
    with closing(sqlite3.connect(path)) as connection, connection:
        (newest,) = connection.execute("SELECT max(sequence) FROM interaction").fetchone()
        through = newest - but_the_last
        connection.execute(
            "INSERT OR IGNORE INTO reasoned (sequence, user) SELECT sequence, user FROM interaction"
            " WHERE sequence <= ?",
            (through,),
        )
        connection.execute("INSERT OR REPLACE INTO progress VALUES ('reasoned', ?)", (through,))


def _digest(town: Town) -> str:
    digest = blake2b(repr(town).encode(), digest_size=6)
    for pattern in SOURCES:
        for source in sorted(ROOT.glob(pattern)):
            digest.update(source.read_bytes())
    return digest.hexdigest()


if __name__ == "__main__":
    use_kernel_cache()
    build(Path(sys.argv[1]), Town(*map(int, sys.argv[2:6])))
