"""Batches, pages, streams and failures of the client, against a real server."""

import pickle
from datetime import UTC, datetime, timedelta, timezone

import grpc
import pytest

from propagation.v1 import propagation_pb2 as pb
from propagation_client import (
    CallFailed,
    Credentials,
    PropagationClient,
    interaction,
    item_key,
    user_key,
)
from propagation_client.calls import ENDLESS, LONG
from propagation_client.paging import BYTES_A_CALL, batches
from tests.client.failing_service import Failure


async def test_any_number_of_events_is_sent_in_order(service, client):
    answer = await client.record(interaction("ann", f"i{n}", event_id=f"e{n}") for n in range(1200))
    assert [len(request.interactions) for request in service.requests] == [500, 500, 200]
    assert [outcome.event_id for outcome in answer.outcomes] == [f"e{n}" for n in range(1200)]
    assert answer.sequence == client.written_through == 1200
    assert await client.record([]) == pb.RecordInteractionsResponse()


async def test_any_number_of_clients_is_written(service, client):
    answer = await client.upsert(pb.Client(key=item_key(f"i{n}")) for n in range(501))
    assert [len(request.clients) for request in service.requests] == [500, 1]
    assert [outcome.key.id for outcome in answer.outcomes] == [f"i{n}" for n in range(501)]
    assert answer.sequence == client.written_through == 2


def test_calls_with_a_deadline_of_their_own_are_in_the_proto():
    methods = pb.DESCRIPTOR.services_by_name["PropagationService"].methods
    assert {method.name for method in methods} >= LONG
    streams = {
        method.name for method in methods if method.client_streaming or method.server_streaming
    }
    assert streams - LONG == ENDLESS


def test_batches_stay_below_the_services_size():
    rows = [pb.Client(description="x" * 8_000) for _ in range(1_000)]
    found = list(batches(rows))
    assert sum(map(len, found)) == 1_000
    assert max(sum(row.ByteSize() for row in batch) for batch in found) <= BYTES_A_CALL


async def test_pages_are_fetched_on_the_way(service, client):
    found = client.routers(pb.BANK_TASTE)
    assert (await anext(found)).number == 0
    assert len(service.requests) == 1, "no page before it is needed"
    assert [router.number async for router in found] == [1, 2, 3, 4, 5]
    assert {request.bank for request in service.requests} == {pb.BANK_TASTE}


async def test_lists_for_a_page_to_watch_are_read_to_their_end(service, client):
    found = [one.key.id async for one in client.search(pb.CLIENT_KIND_ITEM, "blue", lines=True)]
    assert found == ["c0", "c1", "c2"]
    assert {(request.text, request.lines) for request in service.requests} == {("blue", True)}
    assert [one.sequence async for one in client.events(user_key("ann"))] == [2, 1]
    assert service.requests[-1].key == user_key("ann")
    assert [one.sequence async for one in client.dead_letters(exchanges=True)] == [2, 1]
    assert service.requests[-1].exchanges
    assert [one.version async for one in client.profile_versions(user_key("ann"))] == [2, 1]
    assert service.requests[-1].key == user_key("ann")
    assert [one.version async for one in client.router_versions(7)] == [2, 1]
    assert service.requests[-1].number == 7
    since, until = datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 2, 1, tzinfo=UTC)
    rounds = client.operations([pb.OPERATION_KIND_ROUND], since=since, until=until)
    assert [one.sequence async for one in rounds] == [2, 1]
    asked = service.requests[-1]
    assert (list(asked.kinds), asked.since.seconds) == (
        [pb.OPERATION_KIND_ROUND],
        since.timestamp(),
    )
    assert await client.measurements(until=until, by_day=True) == pb.GetMeasurementsResponse()
    assert (service.requests[-1].until.seconds, service.requests[-1].by_day) == (
        until.timestamp(),
        True,
    )
    with pytest.raises(ValueError, match="time zone"):
        await client.measurements(since=datetime(2026, 1, 1))


async def test_a_wrong_field_is_named(service, client):
    service.failures.append(Failure.field("limit", "is 0; give 1 to 1,000"))
    with pytest.raises(CallFailed) as caught:
        await client.recommend("ann", limit=0)
    failure = caught.value
    assert str(failure) == "limit: is 0; give 1 to 1,000"
    assert (failure.field, failure.problem) == ("limit", "is 0; give 1 to 1,000")
    assert (failure.reason, failure.facts, failure.answered) == ("", {}, True)


async def test_the_reason_its_facts_and_the_request_id_are_kept(service, client):
    service.failures.append(Failure.reason(grpc.StatusCode.OUT_OF_RANGE, "TOO_OLD", oldest="9"))
    with pytest.raises(CallFailed) as caught:
        await client.recommend("ann")
    for failure in (caught.value, pickle.loads(pickle.dumps(caught.value))):
        assert (failure.reason, failure.facts) == ("TOO_OLD", {"oldest": "9"})
        assert failure.code() == grpc.StatusCode.OUT_OF_RANGE
    service.failures.append(Failure.fault("4711"))
    with pytest.raises(CallFailed) as caught:
        await client.recommend("ann")
    assert caught.value.request_id == "4711"


async def test_streams_fail_with_the_same_error(service, client):
    service.failures.append(Failure.reason(grpc.StatusCode.UNAUTHENTICATED, "NOT_AUTHENTICATED"))
    watching = client.stub.WatchPropagation(pb.WatchPropagationRequest())
    assert (await watching.read()).sequence == 1
    with pytest.raises(CallFailed) as caught:
        await watching.read()
    assert caught.value.reason == "NOT_AUTHENTICATED"


async def test_events_can_be_streamed(service, client):
    stream = client.stub.StreamInteractions()
    for n in range(3):
        event = interaction("ann", "i", event_id=f"e{n}")
        await stream.write(pb.StreamInteractionsRequest(interaction=event))
        assert (await stream.read()).outcome.event_id == f"e{n}"
    await stream.done_writing()
    assert await stream.read() is grpc.aio.EOF


async def test_the_token_is_sent_with_every_call(service, address):
    async with PropagationClient(address, Credentials(token="a.b")) as client:
        await client.recommend("ann")
        async for _ in client.stub.WatchPropagation(pb.WatchPropagationRequest()):
            pass
        stream = client.stub.StreamInteractions()  # type: ignore[call-arg]
        await stream.write(pb.StreamInteractionsRequest())
        await stream.read()
        stream.cancel()
    assert [sent["authorization"] for sent in service.metadata] == ["Bearer a.b"] * 3


def test_an_event_has_its_time_in_any_zone():
    moment = datetime(2026, 11, 22, 3, 0, tzinfo=timezone(timedelta(hours=1)))
    assert interaction("ann", "i", time=moment).time.ToDatetime(UTC) == moment
    assert not interaction("ann", "i").HasField("time")
    with pytest.raises(ValueError, match="time zone"):
        interaction("ann", "i", time=datetime(2026, 11, 22))


def test_keys():
    assert user_key("ann") == pb.ClientKey(kind=pb.CLIENT_KIND_USER, id="ann")
    assert item_key("a") == pb.ClientKey(kind=pb.CLIENT_KIND_ITEM, id="a")
