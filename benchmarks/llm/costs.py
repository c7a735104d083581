"""Cost and time of an interaction with a language model.

A scripted server takes the model's place. Texts are real (cds-dense: 100 users, 269 records, the
earliest five interactions of each user), and so is the service. The server is a process of its own
and counts calls and tokens (characters / 4). The first extraction of attributes is counted apart.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import grpc
import numpy as np

from benchmarks.llm.server import Counts, ScriptedServer, scripted
from benchmarks.llm.stored_events import outcomes_of
from benchmarks.run import Figures, Run
from benchmarks.service.real_service import Service, serving
from propagation.datasets.dataset import Dataset
from propagation.datasets.load import load_dataset
from propagation.v1 import propagation_pb2 as pb
from propagation.v1.propagation_pb2_grpc import PropagationServiceStub
from services.client.upload import client_to_proto, event_to_proto

EVENTS, SHORT_EVENTS = 500, 60
SEED = 7
FAULTS = {"429": 0.05, "500": 0.05, "malformed": 0.05, "disconnect": 0.05, "refusal": 0.05}
FAULTY_LATENCY = 0.1
READS = 1_000
LOOK_SECONDS, QUIET_SECONDS, LONGEST_SECONDS = 0.2, 1.5, 900.0


def measure(run: Run) -> Figures:
    """Measure costs, overhead, faults with a kill, and reads.

    The calls with 80 taste routers are only noted.
    """
    folder = (
        run.cds or Path(__file__).parent.parent.parent.parent / "shared" / "datasets" / "cds-dense"
    )
    if not folder.exists():
        run.note("cds-dense was not found; name its folder with --cds")
        return
    dataset = load_dataset(folder, SEED).first(SHORT_EVENTS if run.short else EVENTS)
    yield from asyncio.run(_costs(run, dataset))
    asyncio.run(_with_80(run, dataset))
    yield "llm_overhead_ms_per_call", asyncio.run(_overhead(run, dataset))
    yield from asyncio.run(_faults(run, dataset))
    yield "llm_read_p99_ms", asyncio.run(_reads(run, dataset))


async def _costs(run: Run, dataset: Dataset) -> list[tuple[str, float]]:
    with scripted(latency=0.5) as server:
        async with _service(run, server, "costs") as (stub, _):
            extraction = await _described(stub, server, dataset)
            started = time.monotonic()
            await _recorded(stub, dataset)
            await _reasoned(stub)
            seconds = time.monotonic() - started
            counts = server.counts().less(extraction)
            status = await stub.GetStatus(pb.GetStatusRequest())
    number = len(dataset)
    run.note(
        f"{number} interactions of {len(list(dataset.clients))} clients in {seconds:.1f} s; before"
        f" them the first extraction: {extraction.total_calls} calls,"
        f" {extraction.total_prompt:,} and {extraction.total_completion:,} tokens"
    )
    _note(run, counts, number, status.last_round.number)
    return [
        ("llm_calls_per_interaction", counts.total_calls / number),
        ("llm_prompt_tokens_per_interaction", counts.total_prompt / number),
        ("llm_completion_tokens_per_interaction", counts.total_completion / number),
        ("llm_500_interactions_s_at_500ms", seconds * EVENTS / number),
    ]


async def _with_80(run: Run, dataset: Dataset) -> None:
    with scripted(latency=0.05) as server:
        async with _service(run, server, "80", "taste.k=80") as (stub, _):
            extraction = await _described(stub, server, dataset)
            await _recorded(stub, dataset)
            await _reasoned(stub)
            counts = server.counts().less(extraction)
            status = await stub.GetStatus(pb.GetStatusRequest())
    run.note(f"taste.k = 80: {counts.total_calls / len(dataset):.2f} calls an interaction")
    _note(run, counts, len(dataset), status.last_round.number)


async def _overhead(run: Run, dataset: Dataset) -> float:
    """Return the milliseconds of a call outside of the server.

    The server answers without latency, and one call runs at a time.
    """
    with scripted(latency=0.0) as server:
        async with _service(
            run, server, "overhead", "openai.in_flight=1", "update_size=100000"
        ) as (stub, _):
            extraction = await _described(stub, server, dataset)
            started = time.monotonic()
            await _recorded(stub, dataset)
            await _reasoned(stub)
            seconds = time.monotonic() - started
            counts = server.counts().less(extraction)
    run.note(
        f"{counts.total_calls} calls one after the other in {seconds:.1f} s, of which "
        f"{counts.seconds:.1f} s at the server"
    )
    return (seconds - counts.seconds) / counts.total_calls * 1e3


async def _faults(run: Run, dataset: Dataset) -> list[tuple[str, float]]:
    """Measure the cost of faults and the effects of a kill.

    The ratio of calls comes from two runs that differ only in the faults. The counts of lost and
    doubled interactions come from a third run, which is killed in the middle.
    """
    plain = await _calls(run, dataset, {}, "plain")
    faulty = await _calls(run, dataset, FAULTS, "faulty")
    run.note(f"{faulty} calls under faults, {plain} without")
    with scripted(latency=FAULTY_LATENCY, faults=FAULTS) as server:
        database = run.scratch / "killed.db"
        async with _service(run, server, "killed") as (stub, service):
            await _described(stub, server, dataset)
            await _recorded(stub, dataset)
            await _reasoned(stub, 0.4)
            service.kill()
        async with _service(run, server, "killed") as (stub, _):
            await _reasoned(stub)
    found = outcomes_of(database)
    run.note(
        f"killed in the middle: {found.reasoned} of {len(dataset)} reasoned, {found.dead} of them"
        " dead letters"
    )
    return [
        ("llm_calls_ratio_under_faults", faulty / plain),
        ("llm_lost", len(dataset) - found.reasoned),
        ("llm_doubled", found.doubled),
    ]


async def _calls(run: Run, dataset: Dataset, faults: Mapping[str, float], name: str) -> int:
    with scripted(latency=FAULTY_LATENCY, faults=faults) as server:
        async with _service(run, server, name) as (stub, _):
            await _described(stub, server, dataset)
            await _recorded(stub, dataset)
            await _reasoned(stub)
            status = await stub.GetStatus(pb.GetStatusRequest())
        run.note(f"{name}: {status.dead_letters} dead letters")
        return server.counts().total_calls


async def _reads(run: Run, dataset: Dataset) -> float:
    """Return the 99th percentile of GetProfile CACHED, in milliseconds.

    Meanwhile every answer of the model takes 5 s. One caller makes one call after another.
    """
    with scripted(latency=0.0) as server:
        async with _service(run, server, "reads") as (stub, _):
            await _described(stub, server, dataset)
            server.set_latency(5.0)
            await _recorded(stub, dataset)
            users = sorted({event.user_id for event in dataset.events})
            took = []
            for place in range(READS // 5 if run.short else READS):
                key = pb.ClientKey(kind=pb.CLIENT_KIND_USER, id=users[place % len(users)])
                started = time.perf_counter()
                await stub.GetProfile(pb.GetProfileRequest(key=key, freshness=pb.FRESHNESS_CACHED))
                took.append(time.perf_counter() - started)
                await asyncio.sleep(0.002)
            server.set_latency(0.0)
    return float(np.quantile(took, 0.99) * 1e3)


@asynccontextmanager
async def _service(
    run: Run, server: ScriptedServer, name: str, *settings: str
) -> AsyncIterator[tuple[PropagationServiceStub, Service]]:
    told = (
        "reasoner=openai",
        f"openai.base_url={server.base_url}",
        "openai.model=scripted",
        "openai.in_flight=20",
        "update_size=60",
        "taste.k=20",
        "session.k=20",
        "bootstrap_items=200",
        "round_interval=100000",
        "auto_create=true",
        *settings,
    )
    arguments = [part for one in told for part in ("--set", one)]
    with serving(run.scratch / f"{name}.db", *arguments) as service:
        async with grpc.aio.insecure_channel(service.address) as channel:
            yield PropagationServiceStub(channel), service


async def _described(
    stub: PropagationServiceStub, server: ScriptedServer, dataset: Dataset
) -> Counts:
    """Store the catalogue, and wait for every record's first profile.

    Returns:
        The calls and tokens that the first profiles cost.
    """
    clients = [client_to_proto(client) for client in dataset.clients]
    for start in range(0, len(clients), EVENTS):
        await stub.UpsertClients(pb.UpsertClientsRequest(clients=clients[start : start + EVENTS]))
    status = await stub.GetStatus(pb.GetStatusRequest())
    while (
        status.clients_to_describe
        or not status.bootstrapped
        or status.reasoned_through < status.recorded_through
    ):
        await asyncio.sleep(LOOK_SECONDS)
        status = await stub.GetStatus(pb.GetStatusRequest())
    return await _still(server)


async def _still(server: ScriptedServer) -> Counts:
    """Wait until no call comes for QUIET_SECONDS; return the counts."""
    counts = server.counts()
    while True:
        await asyncio.sleep(QUIET_SECONDS)
        if (now := server.counts()).total_calls == counts.total_calls:
            return now
        counts = now


async def _recorded(stub: PropagationServiceStub, dataset: Dataset) -> None:
    await stub.RecordInteractions(
        pb.RecordInteractionsRequest(interactions=map(event_to_proto, dataset.events))
    )


async def _reasoned(stub: PropagationServiceStub, share: float = 1.0) -> None:
    """Wait until interactions are reasoned.

    Args:
        share: Of the sequences that are not reasoned at the start, 0 to 1.
    """
    first: int | None = None
    until = time.monotonic() + LONGEST_SECONDS
    while time.monotonic() < until:
        status = await stub.GetStatus(pb.GetStatusRequest())
        first = status.reasoned_through if first is None else first
        if status.reasoned_through - first >= share * (status.recorded_through - first):
            return
        await asyncio.sleep(LOOK_SECONDS)
    raise TimeoutError(f"not reasoned within {LONGEST_SECONDS:g} s: {status}")


def _note(run: Run, counts: Counts, number: int, rounds: int) -> None:
    by_prompt = ", ".join(f"{name} {calls}" for name, calls in sorted(counts.calls.items()))
    run.note(f"calls: {by_prompt}; {rounds} rounds; at most {counts.most_at_once} at once")
    heard = counts.with_message / max(counts.receptions, 1)
    run.note(
        f"{counts.receptions / number:.1f} receptions an interaction, {heard:.0%} of them with a"
        f" message; {counts.profile_words:.0f} words a profile in prompts; words in answers:"
        f" {counts.words}"
    )
