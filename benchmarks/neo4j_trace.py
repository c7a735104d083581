"""From a profile's line back to an event that it rests on, in a graph of a million relationships: until the first path that
TracePropagation tells ends at an interaction. How long all of a line's paths take is printed beside it."""

import asyncio
import time

import numpy as np

from benchmarks.on_neo4j import neo4j_settings
from benchmarks.run import Figures, Run
from benchmarks.town import Town, clients_of, pairs_of
from propagation.adapters.neo4j.store import Neo4jStore
from propagation.model.interaction import InteractionRow, NewInteraction
from propagation.workflow.engine import Engine
from propagation.workflow.settings import WorkflowSettings
from services.assembly import engine_of
from services.settings import Settings

TOWN, TOWN_SHORT = Town(400, 1_000, 2_000), Town(400, 1_000, 300)
RELATIONSHIPS, RELATIONSHIPS_SHORT = 1_000_000, 10_000
RELATIONSHIPS_AN_EVENT = 2
PART = 4_000
TRACES, TRACES_SHORT = 300, 30
FIRST = 100
"""Neo4j plans a statement when it first meets it, and once more for lists ten times as long: 50 to 300 ms each on two cores."""


def measure(run: Run) -> Figures:
    """The 99th percentile over lines that were drawn among all that rest on something, after FIRST others, for which the server
    still makes plans: what those took is printed."""
    with neo4j_settings(run, "trace") as settings:
        every = asyncio.run(_traced(run, settings))
    traced, cold = every[FIRST:], [first for first, _, _ in every[:FIRST]]
    run.note(f"the first {len(cold)}: p50 {np.percentile(cold, 50) * 1e3:.1f} ms, p99 {np.percentile(cold, 99) * 1e3:.1f} ms")
    for what, seconds in (("first event", [first for first, _, _ in traced]), ("all paths", [every for _, every, _ in traced])):
        run.note(f"{what} of {len(traced)} lines: p50 {np.percentile(seconds, 50) * 1e3:.1f} ms, p99"
                 f" {np.percentile(seconds, 99) * 1e3:.1f} ms")
    run.note(f"paths of a line: mean {np.mean([paths for _, _, paths in traced]):.0f}")
    yield "neo4j_trace_ms", float(np.percentile([first for first, _, _ in traced], 99) * 1e3)


async def _traced(run: Run, settings: Settings) -> list[tuple[float, float, int]]:
    town = TOWN_SHORT if run.short else TOWN
    engine = engine_of(settings.model_copy(update={"workflow": WorkflowSettings(auto_create=True, update_size=100)}))
    await engine.open()
    try:
        await engine.upsert_clients(list(clients_of(town)))
        await engine.drain()
        await _recorded(engine, town, town.interactions, "lived", 200)
        await engine.drain()
        await engine.run_round()
        filling = (RELATIONSHIPS_SHORT if run.short else RELATIONSHIPS) // RELATIONSHIPS_AN_EVENT
        await _recorded(engine, town, filling, "filling", PART)
        lines = await _lines(engine)
        rng = np.random.default_rng(5)
        chosen = rng.permutation(len(lines))[: FIRST + (TRACES_SHORT if run.short else TRACES)].tolist()
        run.note(f"{filling * RELATIONSHIPS_AN_EVENT:,} relationships more than {len(lines):,} lines with a source have")
        traced = [await _one(engine, *lines[place]) for place in chosen]
        return [one for one in traced if one is not None]
    finally:
        await engine.close()


async def _recorded(engine: Engine, town: Town, count: int, name: str, part: int) -> None:
    """What has lived is reasoned part by part, with rounds; what fills the graph is recorded only."""
    pairs = pairs_of(town, count, town.seed).tolist()
    for start in range(0, count, part):
        await engine.record([NewInteraction(event_id=f"{name}-{start + place}", user_id=f"u{user}", item_id=f"i{item}", time=0,
                                            content_hash=name)
                             for place, (user, item) in enumerate(pairs[start : start + part])])
        if part < PART:
            await engine.drain()


async def _lines(engine: Engine) -> list[tuple[int, int]]:
    """(client, line) of every line of a current profile that cites something."""
    assert isinstance(engine.store, Neo4jStore)
    texts = await engine.store.load_texts(sorted(await engine.store.text_versions()))
    return [(ref, line.id) for ref, text in sorted(texts.items()) for line in text.profile.lines if line.sources]


async def _one(engine: Engine, ref: int, line: int) -> tuple[float, float, int] | None:
    """(seconds to the first event, to the end of all paths, how many); None where all of it comes from catalogue texts."""
    started = time.perf_counter()
    first, paths = None, 0
    async for path in engine.tracer.to_line(ref, line):
        paths += 1
        if first is None and isinstance(path[0], InteractionRow):
            first = time.perf_counter() - started
    return None if first is None else (first, time.perf_counter() - started, paths)
