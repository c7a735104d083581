"""An endpoint of embeddings that does not answer: learn waits without starting over, reads go on, a
start waits for it."""

import asyncio

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from propagation.adapters.openai.options import OpenAIOptions
from propagation.model import (
    Author,
    ClientChange,
    ClientKey,
    ClientKind,
    NewInteraction,
    ReasonerUnavailable,
)
from propagation.numbers.rules import Feature
from propagation.v1 import propagation_pb2 as pb
from propagation.v1.propagation_pb2_grpc import PropagationServiceStub
from propagation.workflow.read.recommend import RecommendRequest
from propagation.workflow.settings import WorkflowSettings
from services.assembly import build_engine
from services.config.settings import ServerSettings, Settings
from services.fake_llm.server import fake_llm
from services.runtime.kernel_cache import StartCancelled
from services.server import run_service
from tests.ports import find_free_port
from tests.service.conftest import SMALL

STYLES = ("opera", "jazz")
ITEMS = [
    ClientChange(
        key=ClientKey(kind=ClientKind.ITEM, id=f"i{n}"),
        title=f"Record {n}",
        attributes=[STYLES[n % 2]],
    )
    for n in range(10)
]
NEWCOMER = ClientChange(key=ClientKey(kind=ClientKind.USER, id="new"), description="opera, always")
Status = health_pb2.HealthCheckResponse


def make_settings(tmp_path, embeds_at, own_port=0):
    """Nothing that was embedded is kept: every text asks the endpoint."""
    told = OpenAIOptions(
        base_url=f"http://127.0.0.1:{embeds_at}/v1",
        attempts=1,
        embeddings={"model": "scripted", "dimension": 16, "cached": 0},
    )
    return Settings(
        database=tmp_path / "graph.db",
        reasoning_in="loop",
        embedder="openai",
        openai=told,
        workflow=WorkflowSettings(**SMALL, auto_create=True),
        server=ServerSettings(port=own_port, grace_seconds=0.2),
    )


def events(of, count=60):
    return [
        NewInteraction(
            event_id=f"{of}-{n}",
            user_id=f"u{n % 6}",
            item_id=f"i{(n * 7 + of) % 10}",
            time=n,
            content_hash="c",
        )
        for n in range(count)
    ]


async def test_learning_waits_for_the_embedder_without_starting_over_and_reads_go_on(
    tmp_path, monkeypatch
):
    port = find_free_port()
    engine = build_engine(make_settings(tmp_path, port))
    await engine.open()
    async with fake_llm(port=port):
        await engine.upsert_clients(ITEMS)
        for of in range(3):
            await engine.record(events(of))
            await engine.drain()
            await engine.run_round()
        await engine.upsert_clients([NEWCOMER])
        await engine.learn()
        texts = [
            (n, (await engine.store.load_texts([ref]))[ref])
            for n, ref in enumerate(
                await engine.store.find_refs(
                    [ClientKey(kind=ClientKind.USER, id=f"u{n}") for n in range(6)]
                )
            )
        ]
        heard = [
            f"u{n}"
            for n, text in texts
            if any(line.author == Author.RECEPTION for line in text.profile.lines)
        ]
        assert heard
        wishes = [
            RecommendRequest(user_id=user, limit=3, exclude_seen=False, explain=True)
            for user in ("new", *heard)
        ]
        before = [await engine.recommender.recommend(wish) for wish in wishes]
        assert any(item.explanation.messages for answer in before for item in answer.items)
        assert any(
            part.feature == Feature.CONTENT and part.raw
            for item in before[0].items
            for part in item.explanation.parts
        )
    after = [await engine.recommender.recommend(wish) for wish in wishes]
    assert [item.item_id for answer in after[1:] for item in answer.items] == [
        item.item_id for answer in before[1:] for item in answer.items
    ], "numbers need no endpoint"
    assert not any(item.explanation.messages for answer in after for item in answer.items)
    assert after[0].cold
    assert not any(
        part.feature == Feature.CONTENT and part.raw
        for item in after[0].items
        for part in item.explanation.parts
    )

    reads, newest = [], engine.store.get_newest_checkpoint
    monkeypatch.setattr(engine.store, "get_newest_checkpoint", lambda: reads.append(1) or newest())
    await engine.upsert_clients([ITEMS[0].model_copy(update={"title": "Another record"})])
    for _ in range(3):
        with pytest.raises(ReasonerUnavailable):
            await engine.learn()
    assert not reads, "the view is where it was"
    async with fake_llm(port=port):
        engine.embedder.endpoint.breaker.record_answer()  # or wait until it asks again
        assert await engine.learn()
    await engine.close()


async def learn_catalogue(tmp_path, port):
    engine = build_engine(make_settings(tmp_path, port))
    async with fake_llm(port=port):
        await engine.open()
        await engine.upsert_clients(ITEMS)
        await engine.drain()
        await engine.close()


async def read_refusal(stub):
    """(code, words) of a call, once the service knows what it waits for."""
    for _ in range(100):
        try:
            await stub.GetStatus(pb.GetStatusRequest())
        except grpc.aio.AioRpcError as error:
            if "is starting" not in error.details():
                return error.code(), error.details()
        await asyncio.sleep(0.05)
    return None, "no answer to tell of"


async def read_health(channel):
    return (
        await health_pb2_grpc.HealthStub(channel).Check(
            health_pb2.HealthCheckRequest(), wait_for_ready=True, timeout=5
        )
    ).status


async def test_a_start_waits_for_the_embedder_and_says_so(tmp_path):
    port, own = find_free_port(), find_free_port()
    await learn_catalogue(tmp_path, port)
    stopping, ready = asyncio.Event(), asyncio.Event()

    async def serve():
        async with run_service(make_settings(tmp_path, port, own)) as service:
            ready.set()
            await stopping.wait()
            return service.engine.numbers.view.items

    serving = asyncio.create_task(serve())
    async with grpc.aio.insecure_channel(f"127.0.0.1:{own}") as channel:
        assert await read_health(channel) == Status.NOT_SERVING
        stub = PropagationServiceStub(channel)
        code, why = await read_refusal(stub)
        assert code == grpc.StatusCode.UNAVAILABLE
        assert "waits for its embedder" in why
        async with fake_llm(port=port):
            await asyncio.wait_for(ready.wait(), 5)
            assert await read_health(channel) == Status.SERVING
            stopping.set()
            assert await serving == len(ITEMS)


async def test_a_start_that_waits_can_be_stopped(tmp_path):
    port, stopping = find_free_port(), asyncio.Event()
    await learn_catalogue(tmp_path, port)
    asyncio.get_running_loop().call_later(0.3, stopping.set)
    with pytest.raises(StartCancelled):
        async with run_service(make_settings(tmp_path, port), stopping=stopping):
            pass
    await learn_catalogue(tmp_path, port)
