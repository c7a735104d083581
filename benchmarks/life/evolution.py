"""Evolution on 50,000 users, 100,000 items and 1M interactions, under load.

Meanwhile 500 events a second are recorded and one caller reads.
"""

import asyncio
import time
from collections.abc import Sequence

import numpy as np

from benchmarks.life.background import background
from benchmarks.life.states import copy_of
from benchmarks.run import Figures, Run
from benchmarks.service.reads import ask
from benchmarks.service.real_service import Service, serving
from benchmarks.service.town import catalogue_town
from propagation.v1 import propagation_pb2 as pb
from services.client.stub import connect

FEWEST_READS = 20


def measure(run: Run) -> Figures:
    """Measure the time of EvolveRouters, and the reads in that time.

    The time is from the call to its answer.
    """
    town = catalogue_town(run.short)
    users = [f"u{row}" for row in range(town.users)]
    with serving(copy_of(town, run), "--auto-create") as service:
        before = service.rss_mb()
        with background(service.address, town, run, "an evolution"):
            seconds, reads, done = asyncio.run(_evolved(service, users))
        changes = [
            pb.EvolutionKind.Name(change.kind).removeprefix("EVOLUTION_KIND_").lower()
            for change in done.changes
        ]
        run.note(
            f"{', '.join(changes) or 'no change'}; "
            f"{'published' if done.published else 'not published'}: {done.verdict}"
        )
        run.note(
            f"{len(reads)} reads: p50 {np.percentile(reads, 50) * 1e3:.1f} ms, longest"
            f" {max(reads) * 1e3:.0f} ms; memory {before:,.0f} MB before, {service.rss_mb():,.0f}"
            " MB after"
        )
        yield "evolution_s_100k_clients", seconds
        yield "recommend_p99_during_evolution_ms", float(np.percentile(reads, 99) * 1e3)


async def _evolved(
    service: Service, users: Sequence[str]
) -> tuple[float, list[float], pb.EvolutionRun]:
    """Evolve the routers while one caller reads.

    Returns:
        (seconds of the evolution, seconds of each read, the run).

    Raises:
        RuntimeError: There were fewer than FEWEST_READS reads.
    """
    async with connect(service.address) as stub:
        await ask(stub, "recommend", users[0])
        started = time.monotonic()
        evolving = asyncio.ensure_future(stub.EvolveRouters(pb.EvolveRoutersRequest()))
        rng, reads = np.random.default_rng(7), []
        while not evolving.done():
            asked = time.perf_counter()
            await ask(stub, "recommend", users[rng.integers(len(users))])
            reads.append(time.perf_counter() - asked)
        seconds = time.monotonic() - started
        if len(reads) < FEWEST_READS:
            raise RuntimeError(f"only {len(reads)} reads were answered during the evolution")
        return seconds, reads, (await evolving).run
