"""Rate of processing on a graph server, as in benchmarks/service/process.py.

The service's own worker learns and reasons ML-100k from a recorded log. The statements that are
sent to the server are counted, too, with those that record the events in batches of 500.
"""

import asyncio

from benchmarks.neo4j.server import neo4j_settings
from benchmarks.quality.ml100k import ml100k
from benchmarks.run import Figures, Run
from benchmarks.service.process import worked_off
from propagation.adapters.neo4j.store import Neo4jStore
from propagation.datasets.dataset import Dataset
from services.assembly import build_engine
from services.cli.research.datasets import check_events
from services.config.settings import Settings
from services.runtime.process import SystemClock, raise_garbage_thresholds
from services.worker.call_priority import CallPriority
from services.worker.worker import Worker

EVENTS, EVENTS_SHORT = 20_000, 1_000
INGEST_BATCH = 500


def measure(run: Run) -> Figures:
    """Measure the processing of the earliest 20,000 events.

    More events would not change the pace.
    """
    found = ml100k(run, EVENTS_SHORT)
    if found is None:
        return
    dataset = found.first(EVENTS)
    with neo4j_settings(run, "process") as settings:
        seconds, statements = asyncio.run(_processed(settings, dataset))
    run.note(f"{len(dataset):,} interactions in {seconds:.1f} s, {statements:,} statements")
    yield "neo4j_process_interactions_per_s", len(dataset) / seconds
    yield "neo4j_round_trips_per_interaction", statements / len(dataset)


async def _processed(settings: Settings, dataset: Dataset) -> tuple[float, int]:
    """Process a recorded log with its rounds.

    Returns:
        The seconds of processing, and the number of statements, recording included.
    """
    raise_garbage_thresholds()
    priority, clock = CallPriority(), SystemClock()
    engine = build_engine(settings, priority.yield_to_calls, clock)
    assert isinstance(engine.store, Neo4jStore)
    database = engine.store.database
    await engine.open()
    try:
        await engine.upsert_clients(list(dataset.clients))
        await engine.drain()
        sent, events = database.sent, list(check_events(dataset.events))
        for start in range(0, len(events), INGEST_BATCH):
            await engine.record(events[start : start + INGEST_BATCH])
        seconds = await worked_off(engine, Worker(engine, priority, settings.schedule, clock))
        return seconds, database.sent - sent
    finally:
        await engine.close()
