"""The client for applications, against the real service."""

import asyncio
import time

import grpc
import pytest

from propagation.v1 import propagation_pb2 as pb
from propagation.workflow.settings import WorkflowSettings
from propagation_client import CallFailed, PropagationClient, interaction, item_key, user_key
from services.config.settings import LimitSettings, ServerSettings, Settings
from services.server import run_service
from tests.service.conftest import SMALL


@pytest.fixture
async def client(service):
    async with PropagationClient(service.address) as client:
        yield client


async def test_it_reads_what_it_wrote(client):
    titles = [pb.Client(key=item_key(f"i{n}"), title=f"Record {n}") for n in range(6)]
    written = await client.upsert(titles)
    assert [outcome.created for outcome in written.outcomes] == [True] * 6
    for n in range(3):
        recorded = await client.record([interaction("ann", f"i{n}")])
        assert recorded.outcomes[0].status == pb.INTERACTION_STATUS_ACCEPTED
        assert client.written_through == recorded.sequence
        answer = await client.recommend("ann", min_sequence=client.written_through)
        assert answer.reflects.applied_through >= recorded.sequence
        left = {f"i{one}" for one in range(n + 1, 6)}
        assert {item.item_id for item in answer.recommendations} == left
    profile = await client.profile(item_key("i1"), min_sequence=client.written_through)
    assert profile.reflects.applied_through >= client.written_through
    async with asyncio.timeout(30):
        while profile.reflects.reasoned_through < client.written_through:
            await asyncio.sleep(0.05)
            profile = await client.profile(item_key("i1"))
    assert profile.profile.lines
    await client.similar(item_key("i1"), limit=3)


async def test_the_same_event_counts_once(client):
    event = pb.Interaction(user_id="ann", item_id="i")
    statuses = [(await client.record([event])).outcomes[0].status for _ in range(2)]
    assert statuses == [pb.INTERACTION_STATUS_ACCEPTED, pb.INTERACTION_STATUS_DUPLICATE]
    assert (await client.retract([event.event_id])).outcomes[0].retracted


async def test_failures_name_the_field_or_the_reason(client):
    with pytest.raises(CallFailed) as caught:
        await client.recommend("ann", limit=0)
    assert (caught.value.code(), caught.value.field) == (
        grpc.StatusCode.INVALID_ARGUMENT,
        "limit",
    )
    assert caught.value.problem in str(caught.value)
    with pytest.raises(CallFailed) as caught:
        await client.profile(user_key("nobody"))
    assert caught.value.reason == "NOT_KNOWN"
    started = time.monotonic()
    with pytest.raises(CallFailed) as caught:
        await client.recommend("ann", min_sequence=10**6, timeout=0.5)
    assert (caught.value.reason, caught.value.facts["requested"]) == ("NOT_REACHED", "1000000")
    assert time.monotonic() - started < 2


async def test_lists_are_complete(client, service):
    numbers = [router.number async for router in client.routers(pb.BANK_TASTE)]
    assert numbers == list(range(SMALL["taste"].k))
    assert [member async for member in client.members(numbers[0])] == []
    assert [run async for run in client.evolution_runs()] == []
    status = await client.stub.GetStatus(pb.GetStatusRequest())
    assert status.recorded_through == 0


@pytest.mark.slow
async def test_a_rate_limit_slows_a_caller_down_and_loses_nothing(tmp_path):
    settings = Settings(
        database=tmp_path / "graph.db",
        reasoning_in="loop",
        server=ServerSettings(port=0, grace_seconds=1, limits=LimitSettings(calls_per_second=10)),
        workflow=WorkflowSettings(**SMALL, auto_create=True),
    )
    async with run_service(settings) as started, PropagationClient(started.address) as client:
        began = time.monotonic()
        answers = await asyncio.gather(
            *(client.record([interaction("ann", f"i{n}")]) for n in range(30))
        )
        assert time.monotonic() - began >= 0.9, "20 at once, then 10 a second"
    assert {answer.outcomes[0].status for answer in answers} == {pb.INTERACTION_STATUS_ACCEPTED}
    assert len({answer.sequence for answer in answers}) == 30
