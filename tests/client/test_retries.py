"""Which calls are tried again, when, and with what."""

import asyncio
import time

import grpc
import pytest

from propagation.v1 import propagation_pb2 as pb
from propagation_client import (
    CallFailed,
    PropagationClient,
    Retries,
    Unreachable,
    interaction,
)
from tests.client.failing_service import STARTING, FailingService, Failure, start_service
from tests.ports import find_free_port

TOO_MUCH = "TOO_MUCH"
EXHAUSTED = grpc.StatusCode.RESOURCE_EXHAUSTED


def exhausted_failure(seconds):
    return Failure.reason(EXHAUSTED, TOO_MUCH, retry_seconds=str(seconds))


@pytest.fixture
def free_port():
    return find_free_port()


async def test_every_attempt_records_the_same_event(service, client):
    service.failures.extend(
        [
            STARTING,
            Failure(grpc.StatusCode.UNAVAILABLE, "the connection broke"),
            Failure.reason(grpc.StatusCode.ABORTED, "VERSION_CLASH"),
        ]
    )
    event = pb.Interaction(user_id="ann", item_id="i")
    answer = await client.record([event])
    ids = {request.interactions[0].event_id for request in service.requests}
    assert len(service.requests) == 4
    assert ids == {event.event_id} == {answer.outcomes[0].event_id}, "one id, kept in the message"
    assert event.event_id
    assert client.written_through == answer.sequence == 1


async def test_an_event_that_was_not_recorded_keeps_its_id_for_later(service, client):
    service.failures.append(Failure(grpc.StatusCode.INTERNAL))
    event = pb.Interaction(user_id="ann", item_id="i")
    with pytest.raises(CallFailed):
        await client.record([event])
    await client.record([event])
    first, second = (request.interactions[0].event_id for request in service.requests)
    assert first == second != ""
    assert interaction("ann", "i").event_id != interaction("ann", "i").event_id


async def test_a_rate_limit_is_waited_for_as_long_as_the_service_says(service, client):
    service.failures.append(exhausted_failure(0.3))
    started = time.monotonic()
    await client.recommend("ann")
    assert 0.3 <= time.monotonic() - started < 3
    assert len(service.requests) == 2


async def test_a_wait_beyond_the_deadline_is_refused_at_once(service, client):
    service.failures.append(exhausted_failure(30))
    started = time.monotonic()
    with pytest.raises(CallFailed) as caught:
        await client.recommend("ann", timeout=5)
    assert time.monotonic() - started < 3
    assert caught.value.retry_seconds == 30
    assert len(service.requests) == 1


@pytest.mark.parametrize(
    "failure",
    [
        Failure.field("user_id", "is empty"),
        Failure.reason(EXHAUSTED, "STORE_FULL"),
        Failure(EXHAUSTED, "the message is too large"),
        Failure.reason(grpc.StatusCode.UNAVAILABLE, "NOT_REACHED", requested="9", reached="7"),
        Failure.reason(grpc.StatusCode.NOT_FOUND, "NOT_KNOWN"),
        Failure.fault("4711"),
    ],
    ids=lambda failure: failure.text,
)
async def test_what_would_fail_again_is_sent_once(service, client, failure):
    service.failures.append(failure)
    with pytest.raises(CallFailed) as caught:
        await client.recommend("ann")
    assert caught.value.code() == failure.code
    assert len(service.requests) == 1


async def test_long_calls_and_calls_without_retries_are_sent_once(service, client, address):
    service.failures.extend([STARTING] * 2)
    with pytest.raises(CallFailed):
        await client.stub.RunRound(pb.RunRoundRequest())
    async with PropagationClient(address, retries=None) as once:
        with pytest.raises(CallFailed):
            await once.recommend("ann")
    assert len(service.requests) == 2


async def test_the_deadline_ends_the_attempts(service, address):
    service.failures.extend([STARTING] * 1_000)
    async with PropagationClient(address, timeout=0.5, retries=Retries(0.01, 0.05)) as client:
        started = time.monotonic()
        with pytest.raises(CallFailed) as caught:
            await client.recommend("ann")
    assert 0.3 < time.monotonic() - started < 0.6
    assert caught.value.reason == "STARTING", "the last failure, not the deadline's"
    assert 10 <= len(service.requests) < 60


async def test_every_call_has_a_deadline(service, address):
    service.seconds = 30.0
    async with PropagationClient(address, timeout=0.2) as client:
        for call in (
            client.recommend("ann"),
            client.stub.Recommend(pb.RecommendRequest(user_id="ann")),
        ):
            started = time.monotonic()
            with pytest.raises(Unreachable, match=f"{address} did not answer in time"):
                await call
            assert time.monotonic() - started < 2
        started = time.monotonic()
        with pytest.raises(Unreachable):
            await client.recommend("ann", timeout=0.5)
        assert time.monotonic() - started >= 0.5, "the call's own goes before the client's"
        rounds = asyncio.ensure_future(client.stub.RunRound(pb.RunRoundRequest()))
        assert not (await asyncio.wait([rounds], timeout=0.5))[0], "a long call has an hour"
        rounds.cancel()


@pytest.mark.slow
async def test_a_service_that_comes_back_is_found(free_port):
    """Longer away than grpc's first pause between connection attempts."""
    service = FailingService()
    async with PropagationClient(f"127.0.0.1:{free_port}", timeout=20) as client:
        for _ in range(2):
            waiting = asyncio.create_task(client.record([interaction("ann", "i")]))
            await asyncio.sleep(1.5)
            assert not waiting.done()
            async with start_service(service, free_port):
                began = time.monotonic()
                await waiting
                assert time.monotonic() - began < 8
    assert len({request.interactions[0].event_id for request in service.requests}) == 2


async def test_no_service_is_a_sentence(free_port):
    async with PropagationClient(f"127.0.0.1:{free_port}", timeout=0.3) as client:
        with pytest.raises(Unreachable, match=f"no service answers at 127.0.0.1:{free_port}$"):
            await client.recommend("ann")


async def test_a_cancelled_call_is_cancelled_at_the_service(service, client):
    service.seconds = 30.0
    asking = asyncio.create_task(client.recommend("ann"))
    await asyncio.wait_for(service.entered.wait(), 5)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    await asyncio.wait_for(service.cancelled.wait(), 5)


def test_waits_grow_to_the_longest_and_differ():
    retries = Retries(first_seconds=1, longest_seconds=5)
    failure = CallFailed(grpc.StatusCode.UNAVAILABLE)
    for attempt, longest in enumerate((1, 2, 4, 5, 5)):
        waits = {retries.wait_after(failure, attempt) for _ in range(50)}
        assert all(longest / 2 <= wait <= longest for wait in waits)
        assert len(waits) > 1
    assert retries.wait_after(failure, 10**9) <= 5
