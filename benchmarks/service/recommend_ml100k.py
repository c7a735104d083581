"""Recommend over the 1,682 films of MovieLens 100k, seen ones left out.

The service computes nothing in advance between calls.
"""

import asyncio

from benchmarks.quality.ml100k import ml100k
from benchmarks.run import Figures, Run
from benchmarks.service.reads import measured
from benchmarks.service.real_service import Service, serving
from propagation.datasets.dataset import Dataset
from propagation.v1 import propagation_pb2 as pb
from services.client.stub import connect
from services.client.upload import upload

SECONDS = 15.0
CALLERS = 8
SHORT_EVENTS = 2_000


def measure(run: Run) -> Figures:
    """Measure latency with one caller and throughput with eight.

    All events are learned and reasoned before.
    """
    dataset = ml100k(run, SHORT_EVENTS)
    if dataset is None:
        return
    with serving(run.scratch / "films.db") as service:
        asyncio.run(_filled(service, dataset))
        users = [user.key.id for user in dataset.users]
        alone = measured(service.address, "recommend", users, 1, run.seconds(SECONDS))
        yield "recommend_ml100k_p50_ms", alone["p50_ms"]
        together = measured(service.address, "recommend", users, CALLERS, run.seconds(SECONDS))
        run.note(
            f"1 caller: p99 {alone['p99_ms']:.2f} ms; {CALLERS} callers: p50 "
            f"{together['p50_ms']:.2f} ms"
        )
        yield "recommend_ml100k_per_s", together["per_s"]


async def _filled(service: Service, dataset: Dataset) -> None:
    async with connect(service.address) as stub:
        await upload(stub, dataset.clients, dataset.events)
        await stub.RunRound(pb.RunRoundRequest(drain=True))
