"""Time from an event to another user's recommendation on a graph server.

It is measured as in benchmarks/probe.py, while 100 events a second are recorded.
"""

import asyncio

from benchmarks.neo4j.server import neo4j_settings
from benchmarks.neo4j.town import record_past
from benchmarks.probe import probed
from benchmarks.run import Figures, Run
from benchmarks.service.town import Town, read_clients
from services.assembly import build_engine
from services.config.settings import Settings

TOWN, TOWN_SHORT = Town(10_000, 10_000, 200_000), Town(2_000, 4_000, 20_000)
PROBES, PROBES_SHORT = 100, 5
EVENTS_A_SECOND = 100


def measure(run: Run) -> Figures:
    """Measure the probes on a town with a past.

    The past events are learned, and only marked as reasoned. Events of the probes and of the
    background are reasoned.
    """
    town = TOWN_SHORT if run.short else TOWN
    with neo4j_settings(run, "probe") as settings:
        settings = settings.model_copy(update={"database": run.scratch / "probe.db"})
        asyncio.run(_built(settings, town))
        yield (
            "neo4j_event_to_recommendation_s",
            probed(run, settings, town, PROBES_SHORT if run.short else PROBES, EVENTS_A_SECOND),
        )


async def _built(settings: Settings, town: Town) -> None:
    engine = build_engine(settings)
    await engine.open()
    try:
        await record_past(engine, town, read_clients(town))
        await engine.drain()
    finally:
        await engine.close()
