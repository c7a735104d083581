"""`as_of` over real gRPC: what was then, by sequence and by commit time; what cannot be asked for."""

import time

import grpc
import pytest
from google.protobuf.timestamp_pb2 import Timestamp
from google.rpc.error_details_pb2 import ErrorInfo
from google.rpc.status_pb2 import Status

from propagation.v1 import propagation_pb2 as pb
from tests.service.test_routers_and_traces import ANN, travelled

NEVER = 10**9


def reason_of(error: grpc.aio.AioRpcError) -> ErrorInfo:
    info = ErrorInfo()
    assert Status.FromString(dict(error.trailing_metadata())["grpc-status-details-bin"]).details[0].Unpack(info)
    return info


def now() -> Timestamp:
    stamp = Timestamp()
    stamp.FromNanoseconds(time.time_ns())
    return stamp


async def profile_at(service, **as_of) -> pb.Profile:
    answer = await service.stub.GetProfile(pb.GetProfileRequest(key=ANN, as_of=pb.AsOf(**as_of)))
    return answer.profile


@pytest.mark.parametrize("as_of", [{"sequence": NEVER}, {"commit_time": Timestamp(seconds=4_000_000_000)}])
async def test_the_future_is_refused_and_the_newest_named(service, as_of):
    await travelled(service)
    newest = await service.engine.store.recorded_through()
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await profile_at(service, **as_of)
    assert caught.value.code() == grpc.StatusCode.OUT_OF_RANGE
    assert f"the newest sequence is {newest}" in caught.value.details()
    assert (reason_of(caught.value).reason, reason_of(caught.value).metadata["newest"]) == ("TOO_NEW", str(newest))


async def test_a_profile_by_sequence_and_by_time(service):
    await travelled(service)
    event = await service.engine.store.find_event("ann-i3")
    then = await profile_at(service, sequence=event.sequence)
    assert then.lines
    assert pb.AUTHOR_RECEPTION not in {line.author for line in then.lines}
    assert pb.AUTHOR_RECEPTION in {line.author for line in (await profile_at(service, commit_time=now())).lines}
    assert not (await profile_at(service, commit_time=Timestamp(seconds=1))).lines


@pytest.mark.parametrize(("request_", "field"), [
    ({"as_of": pb.AsOf()}, "as_of"), ({"as_of": pb.AsOf(sequence=0)}, "as_of.sequence"),
    ({"as_of": pb.AsOf(commit_time=Timestamp(seconds=-1))}, "as_of.commit_time"),
    ({"as_of": pb.AsOf(commit_time=Timestamp(nanos=-1))}, "as_of.commit_time"),
    ({"as_of": pb.AsOf(sequence=1), "freshness": pb.FRESHNESS_MERGED}, "as_of"),
    ({"as_of": pb.AsOf(sequence=1), "min_sequence": 2}, "min_sequence"),
    ({"freshness": 9}, "freshness"),
])
async def test_what_does_not_go_together_is_named(service, request_, field):
    await travelled(service)
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await service.stub.GetProfile(pb.GetProfileRequest(key=ANN, **request_))
    assert caught.value.code() == grpc.StatusCode.INVALID_ARGUMENT
    assert caught.value.details().startswith(f"{field}: ")


async def test_what_retention_dropped_is_refused_and_the_oldest_named(service):
    await travelled(service)
    store = service.engine.store
    while await store.prune(5, 100):
        pass
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await profile_at(service, sequence=4)
    assert caught.value.code() == grpc.StatusCode.OUT_OF_RANGE
    assert reason_of(caught.value).metadata["oldest"] == "5"
    assert (await profile_at(service, sequence=5)).key == ANN
