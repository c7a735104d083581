"""Erasure on Neo4j of clients with short and long histories.

The earliest 20,000 events of ML-100k are learned and reasoned before, with their rounds.
"""

import asyncio
import time
from collections import Counter
from collections.abc import Sequence

import numpy as np

from benchmarks.neo4j.server import neo4j_settings
from benchmarks.quality.ml100k import ml100k
from benchmarks.run import Figures, Run
from propagation.datasets.dataset import Dataset
from propagation.model import ClientKey, ClientKind
from propagation.workflow.engine import Engine
from services.assembly import build_engine
from services.cli.research.datasets import check_events
from services.config.settings import Settings
from services.runtime.process import SystemClock, raise_garbage_thresholds

EVENTS, EVENTS_SHORT = 20_000, 1_000
USERS, ITEMS = 10, 5
PART = 500


def measure(run: Run) -> Figures:
    """Measure the slowest erasure; the notes list all."""
    found = ml100k(run, EVENTS_SHORT)
    if found is None:
        return
    dataset = found.first(EVENTS)
    with neo4j_settings(run, "forgetting") as settings:
        took = asyncio.run(_forgotten(settings, dataset))
    for key, events, seconds in took:
        run.note(f"{key.kind.name.lower()} {key.id}, {events:,} events: {seconds:.2f} s")
    run.note(f"median {np.median([seconds for *_, seconds in took]):.2f} s")
    yield "neo4j_forget_s", max(seconds for *_, seconds in took)


async def _forgotten(settings: Settings, dataset: Dataset) -> list[tuple[ClientKey, int, float]]:
    raise_garbage_thresholds()
    engine = build_engine(settings, clock=SystemClock())
    await engine.open()
    try:
        await process(engine, dataset)
        return [await forget(engine, key) for key in clients_of_all_sizes(dataset)]
    finally:
        await engine.close()


async def process(engine: Engine, dataset: Dataset) -> None:
    """Record, learn and reason events in parts, with the due rounds."""
    await engine.upsert_clients(list(dataset.clients))
    await engine.drain()
    events = list(check_events(dataset.events))
    for start in range(0, len(events), PART):
        await engine.record(events[start : start + PART])
        await engine.drain()
    await engine.run_round()


def clients_of_all_sizes(dataset: Dataset) -> list[ClientKey]:
    """Choose users and items, from the fewest events to the most."""
    users, items = Counter[str](), Counter[str]()
    for event in dataset.events:
        users[event.user_id] += 1
        items[event.item_id] += 1
    return [
        ClientKey(kind=kind, id=name)
        for kind, counts, count in (
            (ClientKind.USER, users, USERS),
            (ClientKind.ITEM, items, ITEMS),
        )
        for name in _spread(sorted(counts, key=lambda name: (counts[name], name)), count)
    ]


def _spread(names: Sequence[str], count: int) -> list[str]:
    return [names[int(place)] for place in np.linspace(0, len(names) - 1, count)]


async def forget(engine: Engine, key: ClientKey) -> tuple[ClientKey, int, float]:
    """Forget a client.

    Returns:
        (its key, the number of its erased events, the seconds).
    """
    started = time.monotonic()
    done = await engine.forget(key)
    return key, done.events_erased, time.monotonic() - started
