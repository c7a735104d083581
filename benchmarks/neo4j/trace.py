"""Time of a trace from a profile's line to an event.

The graph has a million relationships. The clock stops when the first path of the trace ends at an
interaction. The time of all paths of a line is printed, too.
"""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import numpy as np

from benchmarks.neo4j.server import neo4j_server
from benchmarks.run import Figures, Run
from benchmarks.service.town import Town, pairs_of, read_clients
from propagation.adapters.neo4j.store import Neo4jStore
from propagation.model import InteractionRow, NewInteraction
from propagation.workflow.engine import Engine
from propagation.workflow.settings import WorkflowSettings
from services.assembly import build_engine
from services.config.settings import Settings

TOWN, TOWN_SHORT = Town(400, 1_000, 2_000), Town(400, 1_000, 300)
RELATIONSHIPS, RELATIONSHIPS_SHORT = 1_000_000, 10_000
RELATIONSHIPS_AN_EVENT = 2
PART = 4_000
TRACES, TRACES_SHORT = 300, 30
WARM_UP = 100
"""The first traces are noted, not judged: the server still plans statements."""


def measure(run: Run) -> Figures:
    """Measure the 99th percentile of traces of drawn lines.

    The lines are drawn among all that cite a source. The server and the service have just started.
    The first WARM_UP traces are left out, because Neo4j still plans its statements.
    """
    with neo4j_server(run, "trace") as server:
        settings = Settings(
            store="neo4j",
            neo4j=server.settings,
            workflow=WorkflowSettings(auto_create=True, update_size=100),
        )
        asyncio.run(_filled(run, settings))
        server.stop()
        server.start()
        traced = asyncio.run(_traced(run, settings))
    warming, traced = traced[:WARM_UP], traced[WARM_UP:]
    longest = sorted((first for first, _, _ in warming), reverse=True)
    run.note(
        f"the longest of the first {WARM_UP} after the start: "
        f"{', '.join(f'{seconds * 1e3:.1f}' for seconds in longest[:20])} ms"
    )
    for what, seconds in (
        ("first event", [first for first, _, _ in traced]),
        ("all paths", [every for _, every, _ in traced]),
    ):
        run.note(
            f"{what} of {len(traced)} lines: p50 {np.percentile(seconds, 50) * 1e3:.1f} ms, p99"
            f" {np.percentile(seconds, 99) * 1e3:.1f} ms"
        )
    run.note(f"paths of a line: mean {np.mean([paths for _, _, paths in traced]):.0f}")
    yield "neo4j_trace_ms", float(np.percentile([first for first, _, _ in traced], 99) * 1e3)


async def _filled(run: Run, settings: Settings) -> None:
    town = TOWN_SHORT if run.short else TOWN
    async with _opened(settings) as engine:
        await engine.upsert_clients(list(read_clients(town)))
        await engine.drain()
        await _recorded(engine, town, town.interactions, "lived", 200)
        await engine.drain()
        await engine.run_round()
        filling = (RELATIONSHIPS_SHORT if run.short else RELATIONSHIPS) // RELATIONSHIPS_AN_EVENT
        await _recorded(engine, town, filling, "filling", PART)
        run.note(
            f"{filling * RELATIONSHIPS_AN_EVENT:,} relationships in addition to those of the "
            f"{town.interactions:,} events that were recorded first"
        )


async def _traced(run: Run, settings: Settings) -> list[tuple[float, float, int]]:
    async with _opened(settings) as engine:
        lines = await _lines(engine)
        traced: list[tuple[float, float, int]] = []
        for place in np.random.default_rng(5).permutation(len(lines)).tolist():
            if (one := await _one(engine, *lines[place])) is not None:
                traced.append(one)
            if len(traced) == WARM_UP + (TRACES_SHORT if run.short else TRACES):
                break
        return traced


@asynccontextmanager
async def _opened(settings: Settings) -> AsyncIterator[Engine]:
    engine = build_engine(settings)
    await engine.open()
    try:
        yield engine
    finally:
        await engine.close()


async def _recorded(engine: Engine, town: Town, count: int, name: str, part: int) -> None:
    """Record events in parts, and process each part with its rounds.

    If `part` is PART, the events only fill the graph and are not processed.
    """
    pairs = pairs_of(town, count, town.seed).tolist()
    for start in range(0, count, part):
        await engine.record(
            [
                NewInteraction(
                    event_id=f"{name}-{start + place}",
                    user_id=f"u{user}",
                    item_id=f"i{item}",
                    time=0,
                    content_hash=name,
                )
                for place, (user, item) in enumerate(pairs[start : start + part])
            ]
        )
        if part < PART:
            await engine.drain()


async def _lines(engine: Engine) -> list[tuple[int, int]]:
    """Return the lines of current profiles that cite a source.

    Returns:
        Pairs of (ref of the client, id of the line).
    """
    assert isinstance(engine.store, Neo4jStore)
    texts = await engine.store.load_texts(sorted(await engine.store.get_text_versions()))
    return [
        (ref, line.id)
        for ref, text in sorted(texts.items())
        for line in text.profile.lines
        if line.sources
    ]


async def _one(engine: Engine, ref: int, line: int) -> tuple[float, float, int] | None:
    """Trace one line, and time its paths.

    Returns:
        (seconds to the first event, seconds to the end of all paths, number of paths); None if
        no path ends at an event, since the line comes from catalogue texts.
    """
    started = time.perf_counter()
    first, paths = None, 0
    profile = await engine.tracer.read_profile(ref)
    traced = next(one for one in profile.lines if one.id == line)
    async for path in engine.tracer.trace_line(profile, traced):
        paths += 1
        if first is None and isinstance(path[0], InteractionRow):
            first = time.perf_counter() - started
    return None if first is None else (first, time.perf_counter() - started, paths)
