"""Time of large and small rounds on a graph of 100,000 clients.

The large round makes the first table, of 800,000 edges. A small round has 1,000 changed clients. It
is measured with adoption and with semantic routing (the NumPy index, filled from the graph; also
Qdrant if QDRANT_URL is set). Half the clients are users, half items; all have a text. All
interactions are learned; those before the epoch are only marked as reasoned.
"""

import asyncio
import os
import time
from collections.abc import Iterator

import numpy as np

from benchmarks.neo4j.server import neo4j_settings
from benchmarks.neo4j.town import past_event, record_past
from benchmarks.run import Figures, Run
from benchmarks.service.town import SIDES, Town, read_clients
from propagation.model import ClientChange, ClientKind, Round
from propagation.workflow.engine import Engine
from propagation.workflow.settings import WorkflowSettings
from services.assembly import build_engine
from services.config.settings import Settings
from services.runtime.process import raise_garbage_thresholds

TOWN, TOWN_SHORT = Town(50_000, 50_000, 200_000), Town(1_000, 1_000, 3_000)
CHANGING, CHANGING_SHORT = 340, 40
"""Interactions of one round; each changes a user and two items."""
WARM_ROUNDS = 3
NEVER = 1 << 30


def measure(run: Run) -> Figures:
    raise_garbage_thresholds()
    town = TOWN_SHORT if run.short else TOWN
    with neo4j_settings(run, "rounds") as settings:
        yield "neo4j_first_table_s_100k_clients", asyncio.run(_first_table(run, settings, town))
        yield (
            "neo4j_round_s_1k_changed_of_100k",
            asyncio.run(_read_rounds(run, settings, town, "adoption", 1)),
        )
        yield (
            "neo4j_round_s_1k_changed_of_100k_semantic",
            asyncio.run(_read_rounds(run, settings, town, "semantic", 2)),
        )
        if "QDRANT_URL" in os.environ:
            there = settings.model_copy(
                update={
                    "index": "qdrant",
                    "qdrant": settings.qdrant.model_copy(
                        update={"url": os.environ["QDRANT_URL"], "prefix": f"bench{os.getpid()}"}
                    ),
                }
            )
            yield (
                "neo4j_round_s_1k_changed_of_100k_qdrant",
                asyncio.run(_read_rounds(run, there, town, "semantic", 3)),
            )


def _engine(settings: Settings, policy: str) -> Engine:
    workflow = WorkflowSettings(policy=policy, update_size=NEVER, auto_create=True)
    return build_engine(settings.model_copy(update={"workflow": workflow}))


async def _first_table(run: Run, settings: Settings, town: Town) -> float:
    """Return the seconds of the round that makes the first epoch's table.

    Every client takes part in this round.
    """
    engine = _engine(settings, "adoption")
    await engine.open()
    try:
        started = time.monotonic()
        await record_past(engine, town, _with_text(town))
        seconds = time.monotonic() - started
        run.note(
            f"{town.users + town.items:,} clients and {town.interactions:,} interactions "
            f"recorded in {seconds:.0f} s"
        )
        seconds, done = await _timed_first_round(engine)
    finally:
        await engine.close()
    run.note(f"first table: {seconds:.1f} s; {_said(done)}")
    return seconds


async def _timed_first_round(engine: Engine) -> tuple[float, Round]:
    """Learn, describe the clients, and open the epoch with its first round.

    Returns:
        The seconds of the first round, and the round.
    """
    found: list[tuple[float, Round]] = []
    run_one = engine.rounds.run

    async def timed() -> Round | None:
        started = time.monotonic()
        done = await run_one()
        if done is not None:
            found.append((time.monotonic() - started, done))
        return done

    engine.rounds.run = timed  # type: ignore[method-assign]  # for the time of each round
    await engine.drain()
    return max(found, key=lambda one: one[1].edges_opened)


async def _read_rounds(run: Run, settings: Settings, town: Town, policy: str, seed: int) -> float:
    """Return the seconds of a small round under a policy.

    WARM_ROUNDS small rounds come before, because each round brings only the edges of the routers
    that it touches to this policy.
    """
    engine = _engine(settings, policy)
    await engine.open()
    try:
        await engine.run_round()
        for warm in range(WARM_ROUNDS, -1, -1):
            rng = np.random.default_rng([seed, warm])
            count = CHANGING if town.users > TOWN_SHORT.users else CHANGING_SHORT
            users, items = (
                rng.integers(0, town.users, count).tolist(),
                rng.integers(0, town.items - town.probes, count).tolist(),
            )
            await engine.record(
                [
                    past_event(f"{policy}-{seed}-{warm}-{place}", *pair)
                    for place, pair in enumerate(zip(users, items, strict=True))
                ]
            )
            await engine.drain()
            started = time.monotonic()
            done = await engine.run_round()
            seconds = time.monotonic() - started
    finally:
        await engine.close()
    assert done is not None, "something had changed"
    run.note(f"{policy}: {seconds:.2f} s; {_said(done)}; load {os.getloadavg()[0]:.1f}")
    return seconds


def _with_text(town: Town) -> Iterator[ClientChange]:
    """Yield the clients, and give each user two words.

    One is a word of the user's community, the other of its half.
    """
    for client in read_clients(town):
        if client.key.kind == ClientKind.USER:
            community = int(client.key.id[1:]) % town.communities
            word = int(client.key.id[1:]) // town.communities
            client = client.model_copy(
                update={
                    "attributes": (
                        f"c{community}w{word % 12}",
                        f"side{community % SIDES}w{word % 30}",
                    )
                }
            )
        yield client


def _said(done: Round) -> str:
    return (
        f"{done.changed:,} clients changed, {done.touched} routers touched, {done.edges_opened:,}"
        f" edges opened and {done.edges_closed:,} closed"
    )
