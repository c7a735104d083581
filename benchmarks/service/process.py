"""Rate of processing: learn and reason a recorded log, durably.

Processing is all of stage 1 and the rounds of stage 2 that are due. The service's own worker does
it, with rounds in parallel. Events are recorded before the clock starts.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import numpy as np

from benchmarks.quality.ml100k import SEED, ml100k
from benchmarks.run import Figures, Run
from propagation.model import ClientChange, ClientKey, ClientKind, NewInteraction
from propagation.v1 import propagation_pb2 as pb
from propagation.workflow.engine import Engine
from services.assembly import build_engine
from services.cli.research.datasets import check_events
from services.config.settings import ScheduleSettings, Settings
from services.grpc.requests import parse_interaction
from services.runtime.process import SystemClock, raise_garbage_thresholds
from services.worker.call_priority import CallPriority
from services.worker.worker import Worker

RECORD_BATCH = 2_000
COST_EVENTS, TURNS = 20_000, 4
SMALL, LARGE = 1_000, 100_000
WORDS = 300
LOOK_SECONDS = 1.0
EVENTS_SHORT, CLIENTS_SHORT = 1_000, 3_000


def measure(run: Run) -> Figures:
    """Measure the processing of ML-100k and of two generated towns.

    The towns have equally many interactions, one over few clients and one over many.
    """
    dataset = ml100k(run, EVENTS_SHORT)
    if dataset is not None:
        seconds = asyncio.run(
            _processed(
                run.scratch / "ml100k.db", list(dataset.clients), check_events(dataset.events)
            )
        )
        run.note(f"ML-100k: {len(dataset):,} interactions in {seconds:.1f} s")
        yield "process_interactions_per_s", len(dataset) / seconds
    small, large = asyncio.run(_costs(run, SMALL, CLIENTS_SHORT if run.short else LARGE))
    yield "process_cost_ratio_100k_over_1k_clients", large / small


async def _costs(run: Run, *towns: int) -> list[float]:
    """Return the seconds for an interaction in each town.

    The settings are the defaults. Half the clients are users, half items. The towns take turns, and
    each is first as often as last: if the machine slows down meanwhile, all of them suffer alike.

    Args:
        towns: The number of clients of each town.
    """
    count = EVENTS_SHORT if run.short else COST_EVENTS
    costs = [0.0] * len(towns)
    async with AsyncExitStack() as open_ones:
        engines = [
            await open_ones.enter_async_context(
                _loaded(run.scratch / f"clients-{clients}.db", _clients(clients // 2))
            )
            for clients in towns
        ]
        events = [_events(clients // 2, count) for clients in towns]
        for turn, start in enumerate(range(0, count, count // TURNS)):
            for place in range(len(towns))[:: -1 if turn % 2 else 1]:
                costs[place] += (
                    await _part(engines[place], events[place][start : start + count // TURNS])
                    / count
                )
    for clients, cost in zip(towns, costs, strict=True):
        run.note(f"{clients:,} clients: {cost * 1e3:.3f} ms an interaction")
    return costs


async def _processed(
    database: Path, clients: list[ClientChange], events: Iterable[NewInteraction]
) -> float:
    """Return the seconds to learn and reason a recorded log, with rounds."""
    async with _loaded(database, clients) as engine:
        return await _part(engine, list(events))


@asynccontextmanager
async def _loaded(database: Path, clients: list[ClientChange]) -> AsyncIterator[Engine]:
    """Yield an engine that has described these clients."""
    raise_garbage_thresholds()
    engine = build_engine(Settings(database=database), CallPriority().yield_to_calls, SystemClock())
    await engine.open()
    try:
        for start in range(0, len(clients), RECORD_BATCH):
            await engine.upsert_clients(clients[start : start + RECORD_BATCH])
        await engine.drain()
        yield engine
    finally:
        await engine.close()


async def _part(engine: Engine, events: list[NewInteraction]) -> float:
    """Record events, then return the seconds that a worker takes for them."""
    for start in range(0, len(events), RECORD_BATCH):
        await engine.record(events[start : start + RECORD_BATCH])
    return await worked_off(
        engine, Worker(engine, CallPriority(), ScheduleSettings(), SystemClock())
    )


async def worked_off(engine: Engine, worker: Worker) -> float:
    """Return the seconds until the worker has processed everything recorded, and stopped."""
    through = await engine.store.get_recorded_through()
    started = time.monotonic()
    worker.start(_ignore_reachable)
    while await engine.store.get_reasoned_through() < through:
        await worker.wait_for_progress(LOOK_SECONDS)
        if worker.failing:
            raise RuntimeError(f"a step of the worker fails: {worker.failing}")
    await worker.stop()
    return time.monotonic() - started


async def _ignore_reachable(_: bool) -> None:
    """Ignore whether the graph's server answers."""


def _clients(half: int) -> list[ClientChange]:
    rng = np.random.default_rng(SEED)
    words = rng.integers(0, WORDS, (half, 3))
    items = [
        ClientChange(
            key=ClientKey(kind=ClientKind.ITEM, id=f"i{row}"),
            title=f"Thing {row}",
            attributes=tuple(dict.fromkeys(f"trait {word}" for word in words[row])),
        )
        for row in range(half)
    ]
    return items + [
        ClientChange(key=ClientKey(kind=ClientKind.USER, id=f"u{row}")) for row in range(half)
    ]


def _events(half: int, count: int) -> list[NewInteraction]:
    rng = np.random.default_rng(SEED + 1)
    pairs = rng.integers(0, half, (count, 2))
    return [
        parse_interaction(
            pb.Interaction(event_id=f"e{row}", user_id=f"u{user}", item_id=f"i{item}"), 0
        )
        for row, (user, item) in enumerate(pairs)
    ]
